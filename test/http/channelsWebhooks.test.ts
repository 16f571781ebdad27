import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { DueKinds } from '../../src/store/store.ts'
import { type ChannelsClient, runChannels, WHOLE_CHANNEL } from '../support/channelsClient.ts'
import { until } from '../support/until.ts'

interface Received {
  headers: IncomingMessage['headers']
  body: string
}

const received: Received[] = []
/** Statuses to answer with, in order; 200 when there are none. */
const answers: number[] = []

let receiver: Server
let url = ''
let live: ChannelsClient
/** Milliseconds by which the clock is ahead of real time. */
let ahead = 0
/** The time while the clock stands still; null: it runs. */
let stoppedAtMs: number | null = null
const clock = { ...systemClock, now: () => (stoppedAtMs ?? Date.now()) + ahead }

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(answers.shift() ?? 200).end('seen')
    })
  })
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  live = await runChannels({ clock, flags: { webhooks: { allowPrivateTargets: true } } })
})
afterAll(async () => {
  await live.close()
  receiver.close()
})

const make = (body: object) => live.made('POST', '/webhooks', { name: 'Hook', url, active: true, ...body })
const logs = async (id: string, query = '') => (await live.v2('GET', `/webhooks/${id}/logs${query}`)).json
const channel = (name: string) => live.made('POST', '/channels', { name })

async function refuse(method: string, path: string, body?: unknown): Promise<[number, string]> {
  const { status, json } = await live.v2(method, path, body)
  return [status, json.code]
}

/** Whether the server finds something due the next two times it looks. When it looks again, it has sent what was due. */
async function looksForDue(): Promise<unknown[]> {
  const looks = vi.spyOn(live.running.app.ctx.store, 'due')
  await until(() => looks.mock.settledResults.filter(({ type }) => type === 'fulfilled').length >= 2, 'two looks')
  const found = looks.mock.settledResults.slice(0, 2).map(({ value }) => (value as DueKinds).deliveries)
  looks.mockRestore()
  return found
}

describe('a webhook of the channels interface', () => {
  test('gets the events that it subscribed to, signed with its secret over the time and the body', async () => {
    const hook = await make({ events: ['channel.created', 'channel.deleted'] })
    const { secret } = await live.made('GET', `/webhooks/${hook.id}/secret`)
    const made = await channel('Told')
    await live.v2('PATCH', `/channels/${made.id}`, { name: 'Renamed' })
    await live.v2('DELETE', `/channels/${made.id}`)
    await until(() => (received.length >= 2 ? true : undefined), 'two callbacks')
    const bodies = received.map(({ body }) => JSON.parse(body))
    expect(bodies.map(({ type }) => String(type)).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'channel.created',
      'channel.deleted',
    ])
    const created = bodies.find(({ type }) => type === 'channel.created')
    expect(created).toEqual({
      type: 'channel.created',
      created: expect.any(Number),
      object: { type: 'channel', id: made.id, organizationId: live.running.accountId, name: 'Told' },
      data: null,
    })
    expect(Math.abs(created.created - clock.now() / 1000)).toBeLessThan(60)
    for (const { headers, body } of received) {
      const [, t = '', h] = /^t=(\d+),h=([0-9a-f]{64})$/.exec(String(headers['x-service-streaming-signature'])) ?? []
      expect(h).toBe(createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'))
    }
    const log = await until(async () => ((await logs(hook.id)).data.length === 2 ? logs(hook.id) : undefined), 'a log')
    expect(log.data[0]).toMatchObject({ id: expect.stringMatching(/^lg_/), statusCode: 200, attempt: 1 })
    expect(log.data.map((entry: { requestData: unknown }) => entry.requestData)).toEqual(expect.arrayContaining(bodies))
    await live.v2('PATCH', `/webhooks/${hook.id}`, { active: false })
  })

  test('gets an event for everything that is deleted or named it, also for the parts of a deleted channel', async () => {
    const deletions = ['ingest.deleted', 'engine.deleting', 'engine.deleted', 'distribution.deleted', 'channel.deleted']
    const events = ['distribution.updated', ...deletions]
    const hook = await make({ events })
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const [alone, other] = made.engines as { id: string; name: string }[]
    const [web] = made.distributions as { id: string; updatedAt: string }[]
    await live.v2('DELETE', `/engines/${alone?.id}`)
    const after = await live.made('GET', `/distributions/${web?.id}`)
    expect([after.endpoints.engineIds, after.updatedAt > (web?.updatedAt ?? '')]).toEqual([[other?.id], true])
    await live.v2('DELETE', `/channels/${made.id}`)
    const entries = await until(async () => {
      const { data } = await logs(hook.id, '?limit=100')
      return data.length >= 9 ? data : undefined
    }, 'nine callbacks')
    type Entry = { type: string; requestData: { object: { id: string } } }
    const sent = entries.map(({ type, requestData }: Entry) => `${type} ${requestData.object.id}`)
    const engines = [alone, other].flatMap((one) => [`engine.deleting ${one?.id}`, `engine.deleted ${one?.id}`])
    const ingests = made.ingests.map(({ id }: { id: string }) => `ingest.deleted ${id}`)
    const ofWeb = [`distribution.updated ${web?.id}`, `distribution.deleted ${web?.id}`]
    expect(new Set(sent)).toEqual(new Set([...engines, ...ingests, ...ofWeb, `channel.deleted ${made.id}`]))
    expect(sent).toHaveLength(9)
    const { object } = entries.find(({ type }: { type: string }) => type === 'engine.deleting').requestData
    expect(object).toMatchObject({ type: 'engine', parent: { type: 'channel', id: made.id, name: 'Stage' } })
    await live.v2('PATCH', `/webhooks/${hook.id}`, { active: false })
  })

  test('is retried after 5 s, then 30 s, with the same body and a new signature, until it accepts', async () => {
    received.length = 0
    answers.push(500, 503, 200)
    stoppedAtMs = Date.now()
    const hook = await make({ events: ['channel.created'] })
    await channel('Again')
    const entries = (n: number) =>
      until(async () => {
        const { data } = await logs(hook.id)
        return data.length === n ? data : undefined
      }, `${n} entries`)
    await entries(1)
    ahead += 4000
    expect(await looksForDue()).toEqual([false, false])
    expect((await logs(hook.id)).data).toHaveLength(1)
    ahead += 2000
    await entries(2)
    ahead += 31_000
    const all = await entries(3)
    const sent = all.map((one: { attempt: number; statusCode: number }) => [one.attempt, one.statusCode])
    expect(sent).toEqual([
      [3, 200],
      [2, 503],
      [1, 500],
    ])
    expect(all[1].error).toContain('503')
    expect(all[1].errorSentences).toEqual([{ code: 'request_status', values: { status: 503 } }])
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    expect(new Set(received.map(({ headers }) => headers['x-service-streaming-signature'])).size).toBe(3)
    stoppedAtMs = null
    await live.v2('PATCH', `/webhooks/${hook.id}`, { active: false })
  })

  test('without a listening receiver is logged with status 0, and gets nothing more once it is deactivated', async () => {
    const hook = await make({ url: 'http://127.0.0.1:1/', events: ['channel.created'] })
    await channel('Nobody')
    const [entry] = await until(async () => {
      const { data } = await logs(hook.id)
      return data.length > 0 ? data : undefined
    }, 'an entry')
    expect(entry).toMatchObject({ statusCode: 0, attempt: 1, error: expect.any(String) })
    // At once, and not when the retry would come: the webhook may be active again by then.
    await live.v2('PATCH', `/webhooks/${hook.id}`, { active: false })
    const { data } = await logs(hook.id)
    expect(data.map(({ state, error }: { state: string; error: string }) => [state, error])).toEqual([
      ['skipped', 'the webhook was deactivated'],
      ['failed', entry.error],
    ])
  })

  test('is separate from the webhooks of the token interface', async () => {
    const hook = await make({ events: ['*'] })
    const listed = await live.running.call('GET', '/api/webhooks/list')
    expect(listed.json.data).toEqual([])
    expect((await live.v2('GET', '/webhooks')).json.data.map((one: { id: string }) => one.id)).toContain(hook.id)
    await live.v2('PATCH', `/webhooks/${hook.id}`, { active: false })
  })
})

describe('its state', () => {
  test('is inactive by default, can be deleted only then, and shows its secret in one answer only', async () => {
    const hook = await live.made('POST', '/webhooks', { name: 'Quiet', url, events: ['*', 'channel.created'] })
    expect(hook).toMatchObject({ active: false, events: ['*'] })
    expect(Object.keys(hook)).not.toContain('secret')
    const on = await live.made('PATCH', `/webhooks/${hook.id}`, { active: true, description: 'for tests' })
    expect(on).toMatchObject({ active: true, description: 'for tests' })
    expect(await refuse('DELETE', `/webhooks/${hook.id}`)).toEqual([409, 'webhook_active'])
    await live.v2('PATCH', `/webhooks/${hook.id}`, { active: false, description: null })
    expect((await live.v2('DELETE', `/webhooks/${hook.id}`)).status).toBe(204)
    expect(await refuse('GET', `/webhooks/${hook.id}`)).toEqual([404, 'not_found'])
    expect(await refuse('GET', `/webhooks/${hook.id}/logs`)).toEqual([404, 'not_found'])
  })

  test('refuses invalid fields', async () => {
    const valid = { name: 'X', url, events: ['*'] }
    for (const body of [
      { ...valid, events: [] },
      { ...valid, events: ['channel.exploded'] },
      { ...valid, url: 'ftp://x.example/' },
      { ...valid, extra: 1 },
      { name: 'X' },
      [],
    ]) {
      expect(await refuse('POST', '/webhooks', body)).toEqual([400, 'validation_failed'])
    }
    const hook = await live.made('POST', '/webhooks', valid)
    expect(await refuse('GET', `/webhooks/${hook.id}/logs?startDate=2026-01-01`)).toEqual([400, 'validation_failed'])
    expect(await refuse('GET', `/webhooks/${hook.id}/logs?limit=101`)).toEqual([400, 'invalid_limit'])
    expect(await refuse('GET', `/webhooks/${hook.id}/logs?cursor=abc`)).toEqual([400, 'invalid_cursor'])
  })

  test('filters the log by date and pages it by cursor', async () => {
    received.length = 0
    const hook = await make({ events: ['channel.created'] })
    for (const name of ['1', '2', '3']) await channel(name)
    await until(async () => ((await logs(hook.id)).data.length === 3 ? true : undefined), 'three entries')
    const first = await logs(hook.id, '?limit=2')
    expect([first.data.length, first.pagination.hasMore]).toEqual([2, true])
    const last = await logs(hook.id, `?limit=2&cursor=${first.pagination.cursor}`)
    expect([last.data.length, last.pagination]).toEqual([1, { hasMore: false }])
    const soon = new Date(clock.now() + 60_000).toISOString()
    expect((await logs(hook.id, `?startDate=${soon}`)).data).toEqual([])
    expect((await logs(hook.id, `?endDate=${soon}`)).data).toHaveLength(3)
  })
})
