import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { until } from '../support/until.ts'
import { credential, type ChannelsClient, runChannels, strangerOf } from '../support/channelsClient.ts'

interface Received {
  headers: IncomingMessage['headers']
  body: string
}

interface Entry {
  id: string
  eventId: string
  timestamp: string
  type: string
  state: string
  statusCode: number
  attempt: number
  requestData: { type: string; created: number; object: { id: string; name: string } }
  error?: string
  redeliveryOf?: string
}

const MINUTE_MS = 60_000
let received: Received[] = []
/** The status that the receiver answers with. */
let status = 200
let receiver: Server
let url = ''
let live: ChannelsClient
/** A channel whose events these tests' webhooks do not get. */
let other = ''
/** Milliseconds by which the clock is ahead of real time. */
let ahead = 0
const clock = { ...systemClock, now: () => Date.now() + ahead }

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  live = await runChannels({ clock, flags: { webhooks: { allowPrivateTargets: true } } })
  other = (await happen('other')).id
})
afterAll(async () => {
  await live.close()
  receiver.close()
})

interface Hook {
  id: string
  path: string
  /** The whole log. */
  log(): Promise<Entry[]>
  isPaused(): Promise<boolean>
  /** As if this number of events had been given up already. */
  givenUp(failuresInRow: number): Promise<void>
}

const hooks: Hook[] = []

async function wholeLog(path: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let query = ''; entries.length < 1000; ) {
    const { data, pagination } = (await live.v2('GET', `${path}/logs?limit=100${query}`)).json
    entries.push(...data)
    if (!pagination.hasMore) break
    query = `&cursor=${pagination.cursor}`
  }
  return entries
}

async function makeHook(over: object = {}): Promise<Hook> {
  const body = { name: 'Hook', url, active: true, events: ['channel.created'], ...over }
  const { id } = await live.made('POST', '/webhooks', body)
  const path = `/webhooks/${id}`
  const { store } = live.running.app.ctx
  const hook: Hook = {
    id,
    path,
    log: () => wholeLog(path),
    isPaused: async () => (await live.made('GET', path)).disabled !== undefined,
    async givenUp(failuresInRow) {
      const slot = (await store.read.channelWebhooks.get(live.running.accountId, id))?.slot ?? 0
      await store.transaction((tx) => tx.webhooks.setHealth(slot, { failuresInRow, disabled: null }))
    },
  }
  hooks.push(hook)
  return hook
}

afterEach(async () => {
  for (const { path } of hooks.splice(0)) await live.v2('PATCH', path, { active: false })
  received = []
  status = 200
})

const happen = (name: string) => live.made('POST', '/channels', { name })
const nameOf = ({ requestData }: Entry): string => requestData.object.name
const summary = (entries: Entry[]) => entries.map((entry) => [nameOf(entry), entry.attempt, entry.state])

/** Advances the clock. A change wakes the server, which otherwise polls every second. */
async function skip(ms: number): Promise<void> {
  ahead += ms
  await live.v2('PATCH', `/channels/${other}`, { name: `at ${clock.now()}` })
}

/** Advances the clock until the log has this number of entries. */
async function passes(ms: number, hook: Hook, entries: number): Promise<Entry[]> {
  if (ms > 0) await skip(ms)
  let log: Entry[] = []
  await until(async () => (log = await hook.log()).length >= entries, `${entries} entries`)
  return log
}

describe('a receiver that was down', () => {
  test('for some minutes gets everything when it is back: failed attempts do not pause its webhook', async () => {
    const hook = await makeHook()
    status = 503
    const names = Array.from({ length: 40 }, (_, n) => `event ${n}`)
    for (const name of names) await happen(name)
    await passes(0, hook, 40)
    await passes(6000, hook, 80)
    // Twenty attempts more than a webhook of the token interface gets before its pause.
    await passes(31_000, hook, 120)
    expect(await hook.isPaused()).toBe(false)
    status = 200
    const log = await passes(2 * MINUTE_MS, hook, 160)
    const delivered = log.filter(({ state }) => state === 'delivered')
    expect(delivered.map(nameOf).toSorted()).toEqual(names.toSorted())
  })

  test('for long gets one event a minute; pending events stay, and the log lists skipped ones', async () => {
    const hook = await makeHook()
    await hook.givenUp(99)
    status = 503
    await happen('given up')
    await passes(0, hook, 1)
    for (const [at, pauseMs] of [5000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS].entries()) {
      await passes(pauseMs + 1000, hook, at + 2)
    }
    await happen('waits')
    expect(summary(await passes(0, hook, 6))[0]).toEqual(['waits', 1, 'failed'])
    expect(await hook.isPaused()).toBe(false)
    // The last attempt of this event; the next attempt of the other one was due before.
    await passes(61 * MINUTE_MS, hook, 8)
    await until(() => hook.isPaused(), 'a pause')
    const { disabled } = await live.made('GET', hook.path)
    expect(disabled.reason).toBe('100 events in a row were given up; the last: the receiver answered with status 503')

    const sent = received.length
    await happen('skipped')
    const [skipped] = await passes(0, hook, 9)
    expect(skipped).toMatchObject({ type: 'channel.created', state: 'skipped', statusCode: 0, attempt: 1 })
    expect(skipped?.error).toContain('100 events in a row were given up')
    expect(nameOf(skipped as Entry)).toBe('skipped')
    expect(received).toHaveLength(sent)

    const probed = await passes(MINUTE_MS + 1000, hook, 10)
    expect(summary(probed)[0]).toEqual(['waits', 3, 'failed'])
    expect([received.length, await hook.isPaused()]).toEqual([sent + 1, true])
    status = 200
    await passes(MINUTE_MS + 1000, hook, 11)
    await until(async () => !(await hook.isPaused()), 'the end of the pause')
    await happen('after')
    await until(async () => (await hook.log()).some((one) => nameOf(one) === 'after'), 'what comes after it')
    const delivered = (await hook.log()).filter(({ state }) => state === 'delivered').map(nameOf)
    expect(delivered).toEqual(['after', 'waits'])

    const again = await live.made('POST', `${hook.path}/logs/${skipped?.id}/redeliver`)
    expect(again).toEqual({ id: expect.stringMatching(/^lg_/), eventId: skipped?.eventId, type: 'channel.created' })
    await until(async () => (await hook.log())[0]?.id === again.id, 'the redelivery')
    expect((await hook.log())[0]).toMatchObject({ state: 'delivered', redeliveryOf: skipped?.id })
    expect(JSON.parse(received.at(-1)?.body ?? '')).toEqual(skipped?.requestData)
  })

  test('and has no pending events is probed with the last event that it missed', async () => {
    const hook = await makeHook()
    status = 503
    await hook.givenUp(99)
    await happen('first')
    for (let attempt = 1; attempt <= 6; attempt += 1) await passes(61 * MINUTE_MS, hook, attempt)
    await until(() => hook.isPaused(), 'a pause')
    await happen('missed')
    await passes(0, hook, 7)
    status = 200
    const [probe] = await passes(MINUTE_MS + 1000, hook, 8)
    expect([nameOf(probe as Entry), probe?.attempt, probe?.state]).toEqual(['missed', 1, 'delivered'])
    await until(async () => !(await hook.isPaused()), 'the end of the pause')
  })

  test.each([
    ['ends the pause', () => ({ active: true })],
    ['names another address', () => ({ url: `${url}/new` })],
  ])('gets pending events at once when a user %s', async (_, change) => {
    const hook = await makeHook()
    status = 503
    await hook.givenUp(99)
    await happen('first')
    for (let attempt = 1; attempt <= 5; attempt += 1) await passes(11 * MINUTE_MS, hook, attempt)
    await happen('waits')
    await passes(0, hook, 6)
    await passes(61 * MINUTE_MS, hook, 8)
    await until(() => hook.isPaused(), 'a pause')
    // Its next attempt would be due during the pause, and waits for its end.
    const sent = received.length
    await skip(31_000)
    const heldUntilMs = clock.now() + 50 * MINUTE_MS
    const { read } = live.running.app.ctx.store
    await until(async () => !(await read.deliveries.isRetryDue(clock.now())), 'nothing that is due')
    expect([received.length, await read.deliveries.isRetryDue(heldUntilMs)]).toEqual([sent, false])
    status = 200
    await live.made('PATCH', hook.path, change())
    expect(await hook.isPaused()).toBe(false)
    await skip(1000)
    await until(async () => (await hook.log())[0]?.state === 'delivered', 'what waited')
    expect(nameOf((await hook.log())[0] as Entry)).toBe('waits')
  })
})

describe('the log of a webhook', () => {
  test('is newest first by its timestamps, also when an event is retried after others', async () => {
    const hook = await makeHook()
    status = 503
    await happen('early')
    await passes(0, hook, 1)
    status = 200
    await happen('late')
    await passes(1000, hook, 2)
    const log = await passes(6000, hook, 3)
    expect(summary(log)).toEqual([
      ['early', 2, 'delivered'],
      ['late', 1, 'delivered'],
      ['early', 1, 'failed'],
    ])
    const times = log.map(({ timestamp }) => timestamp)
    expect(times).toEqual(times.toSorted().toReversed())
    const walked: string[] = []
    let query = '?limit=1'
    for (let page = 0; page < 3; page += 1) {
      const { data, pagination } = (await live.v2('GET', `${hook.path}/logs${query}`)).json
      walked.push(...data.map(({ id }: Entry) => id))
      query = `?limit=1&cursor=${pagination.cursor}`
    }
    expect(walked).toEqual(log.map(({ id }) => id))
  })
})

describe('manually', () => {
  test('a webhook is tested before it is active, with an event marked as a test', async () => {
    const hook = await makeHook({ active: false, events: ['engine.playing', '*'] })
    const sent = await live.made('POST', `${hook.path}/test`, { type: 'engine.error' })
    const [entry] = await passes(0, hook, 1)
    expect(entry).toMatchObject({ id: sent.id, eventId: sent.eventId, type: 'engine.error', state: 'delivered' })
    const [{ headers, body } = { headers: {}, body: '' }] = received
    expect(headers['webhook-id']).toBe(sent.eventId)
    expect(JSON.parse(body)).toMatchObject({
      type: 'engine.error',
      object: { type: 'engine', organizationId: live.running.accountId, parent: { type: 'channel' } },
      data: { test: true },
    })
    expect(await live.made('POST', `${hook.path}/test`)).toMatchObject({ type: 'channel.updated' })
    const refused = await live.v2('POST', `${hook.path}/test`, { type: 'engine.exploded', x: 1 })
    expect([refused.status, refused.json.code, refused.json.details.length]).toEqual([400, 'validation_failed', 2])
    status = 503
    await live.made('POST', `${hook.path}/test`)
    await passes(0, hook, 3)
    ahead += 61 * MINUTE_MS
    await live.made('POST', `${hook.path}/test`)
    // A failed test is not retried.
    expect((await passes(0, hook, 4)).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
  })

  test('its secret is rotated, and the new one signs everything sent from then on', async () => {
    const hook = await makeHook()
    const old = (await live.made('GET', `${hook.path}/secret`)).secret
    const { secret } = await live.made('POST', `${hook.path}/rotate-secret`)
    expect(secret).not.toBe(old)
    expect((await live.made('GET', `${hook.path}/secret`)).secret).toBe(secret)
    await happen('signed')
    await passes(0, hook, 1)
    const [{ headers, body } = { headers: {}, body: '' }] = received
    const [, t = '', h] = /^t=(\d+),h=(\w+)$/.exec(String(headers['x-service-streaming-signature'])) ?? []
    expect(h).toBe(createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'))
    const [row] = await live.running.app.ctx.store.read.audit.recent(live.running.accountId, 2).then(([, one]) => [one])
    expect(row).toMatchObject({ action: 'webhook.secret_rotated', subject: hook.id, before: null, after: null })
  })

  test('nothing is sent for another account, for a reader, or twice at once', async () => {
    const [hook, another] = [await makeHook(), await makeHook()]
    await happen('sent')
    const [entry] = await passes(0, hook, 1)
    const [theirs] = await passes(0, another, 1)
    const redeliver = (log: string | undefined, headers = {}) =>
      live.v2('POST', `${hook.path}/logs/${log}/redeliver`, undefined, headers)
    for (const id of [theirs?.id, 'lg_1', 'nothing', entry?.id.slice(3)]) {
      expect((await redeliver(id)).json).toMatchObject({ code: 'not_found' })
    }
    const stranger = { authorization: await strangerOf(live) }
    const reader = { authorization: await credential(live.running, 'read') }
    for (const path of ['test', 'rotate-secret', `logs/${entry?.id}/redeliver`]) {
      const of = async (headers: object) =>
        (await live.v2('POST', `${hook.path}/${path}`, undefined, headers as Record<string, string>)).status
      expect([path, await of(stranger), await of(reader)]).toEqual([path, 404, 403])
    }
    const again = (await redeliver(entry?.id)).json.data
    const twice = await redeliver(again.id)
    expect([200, 409]).toContain(twice.status)
    if (twice.status === 409) expect(twice.json.code).toBe('delivery_under_way')
  })
})

describe('the list of events', () => {
  const events = async (query: string) => (await live.v2('GET', `/logs${query}`)).json
  const namesIn = (entries: Entry[]) => entries.map(nameOf)

  test('has every event, with or without a subscribed webhook, with the same content as the callbacks', async () => {
    const hook = await makeHook()
    ahead += MINUTE_MS
    const since = new Date(clock.now()).toISOString()
    const { id } = await happen('told')
    await live.v2('PATCH', `/channels/${id}`, { name: 'changed' })
    await passes(0, hook, 1)
    await until(async () => (await events(`?startDate=${since}`)).data.length === 2, 'two events')
    const { data } = await events(`?startDate=${since}`)
    expect(data.map(({ type }: Entry) => type)).toEqual(['channel.updated', 'channel.created'])
    expect(data[1]).toEqual({
      id: received[0]?.headers['webhook-id'],
      timestamp: expect.any(String),
      type: 'channel.created',
      requestData: JSON.parse(received[0]?.body ?? ''),
    })
    const [entry] = await hook.log()
    expect(entry?.eventId).toBe(data[1].id)
    expect(namesIn((await events(`?startDate=${since}&sortDirection=asc`)).data)).toEqual(['told', 'changed'])
    expect(namesIn((await events(`?startDate=${since}&type=channel.updated,channel.deleted`)).data)).toEqual([
      'changed',
    ])
    expect(namesIn((await events(`?endDate=${since}&limit=100`)).data)).not.toContain('told')
    const theirs = await live.v2('GET', '/logs', undefined, { authorization: await strangerOf(live) })
    expect(theirs.json).toEqual({ data: [], pagination: { hasMore: false } })
  })

  test('refuses unknown parameters', async () => {
    for (const query of ['type=engine.exploded', 'type=', 'sortDirection=up', 'startDate=2026-01-01', 'channel=x']) {
      const answer = await live.v2('GET', `/logs?${query}`)
      expect([query, answer.status, answer.json.code]).toEqual([query, 400, 'validation_failed'])
    }
    expect((await live.v2('POST', '/logs')).status).toBe(405)
  })
})
