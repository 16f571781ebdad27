import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCredential, deleteCredential } from '../../src/commands/accounts/credentials.ts'
import { cliActor } from '../../src/commands/context.ts'
import { newRun } from '../conformance/store.samples.ts'
import { strangerOf, type ChannelsClient, runChannels, WHOLE_CHANNEL } from '../support/channelsClient.ts'

const DAY_MS = 86_400_000
const FIRST = Date.UTC(2026, 0, 1)
const TIME = 'start=2026-01-01&end=2026-01-04'

let live: ChannelsClient
let channelId: string
let [web, app] = ['', '']
beforeAll(async () => {
  live = await runChannels()
  const channel = await live.made('POST', '/channels', {
    ...WHOLE_CHANNEL,
    distributions: [{ name: 'Web' }, { name: 'App' }],
  })
  channelId = channel.id
  ;[web, app] = channel.distributions.map(({ id }: { id: string }) => id)
  const served = (distributionId: string, slotMs: number, bytesOut: number, country = '', trackingId = '') => ({
    accountId: live.running.accountId,
    channelId,
    distributionId,
    slotMs,
    country,
    trackingId,
    bytesOut,
    viewedMs: bytesOut === 3 ? 0 : bytesOut * 600,
  })
  await live.running.app.ctx.store.transaction((tx) =>
    tx.served.add([
      served(web, FIRST, 100, 'NZ', 'a'),
      served(web, FIRST + 23 * 3_600_000, 20, 'AT', 'b'),
      served(app, FIRST + DAY_MS, 3, 'NZ'),
      served(app, FIRST - 1, 1000),
      served(app, FIRST + 3 * DAY_MS, 1000),
    ]),
  )
})
afterAll(() => live.close())

const report = async (path: string) => (await live.v2('GET', path)).json.data
const bytesOf = (query: string) => report(`/channels/${channelId}/analytics/bytes-transferred?${query}`)

describe('the bytes of a channel', () => {
  test('are reported by time, with every step, also for its distributions', async () => {
    const [one, two, three] = ['01', '02', '03'].map((day) => `2026-01-${day}T00:00:00.000Z`)
    expect(await bytesOf(`${TIME}&resolution=day`)).toEqual([
      { timestamp: one, records: [{ id: channelId, amount: 120 }] },
      { timestamp: two, records: [{ id: channelId, amount: 3 }] },
      { timestamp: three, records: [] },
    ])
    const [first, second] = await bytesOf(`${TIME}&resolution=day&groupBy=distribution`)
    expect([first.records, second.records]).toEqual([[{ id: web, amount: 120 }], [{ id: app, amount: 3 }]])
    expect(await bytesOf(`${TIME}&resolution=month&groupBy=streaming-format`)).toEqual([
      { timestamp: one, records: [{ id: 'hls', amount: 123 }] },
    ])
    expect(await bytesOf(`${TIME}&resolution=month&distributionIds=${app}`)).toEqual([
      { timestamp: one, records: [{ id: channelId, amount: 3 }] },
    ])
    expect(await bytesOf(`${TIME}&resolution=month&streamingFormats=hesp`)).toEqual([{ timestamp: one, records: [] }])
    const own = `/distributions/${web}/analytics/bytes-transferred?${TIME}&resolution=month`
    expect(await report(own)).toEqual([{ timestamp: one, records: [{ id: web, amount: 120 }] }])
  })

  test('are reported by days of the requested time zone', async () => {
    const days = await bytesOf('start=2026-01-01&end=2026-01-02&resolution=day&utcOffset=120')
    expect(days).toEqual([
      { timestamp: '2025-12-31T22:00:00.000Z', records: [{ id: channelId, amount: 100 }] },
      { timestamp: '2026-01-01T22:00:00.000Z', records: [{ id: channelId, amount: 20 }] },
    ])
  })

  test('are reported by country and by tracking id', async () => {
    const at = `/channels/${channelId}/analytics/bytes-transferred`
    expect(await report(`${at}/countries?${TIME}`)).toEqual([
      { countryCode: 'NZ', amount: 103 },
      { countryCode: 'AT', amount: 20 },
    ])
    expect((await live.v2('GET', `${at}/tracking-ids?${TIME}`)).json).toEqual({
      data: [{ amount: 3 }, { trackingId: 'a', amount: 100 }, { trackingId: 'b', amount: 20 }],
      pagination: { hasMore: false },
    })
    const [unknown] = await report(`${at}/countries?start=2026-01-04&end=2026-01-05`)
    expect(unknown).toEqual({ countryCode: 'ZZ', amount: 1000 })
  })

  test('stay in the reports when their distribution is deleted', async () => {
    const extra = await live.made('POST', `/channels/${channelId}/distributions`, { name: 'Gone' })
    const of = { accountId: live.running.accountId, channelId, distributionId: extra.id, country: '', trackingId: '' }
    await live.running.app.ctx.store.transaction((tx) =>
      tx.served.add([{ ...of, slotMs: FIRST + 40 * DAY_MS, bytesOut: 9, viewedMs: 0 }]),
    )
    await live.v2('DELETE', `/distributions/${extra.id}`)
    const [february] = await bytesOf('start=2026-02-01&end=2026-03-01&resolution=month&groupBy=distribution')
    expect(february.records).toEqual([{ id: extra.id, amount: 9 }])
    const own = `/distributions/${extra.id}/analytics/bytes-transferred?start=2026-02-01&end=2026-03-01&resolution=month`
    expect((await report(own))[0].records).toEqual([{ id: extra.id, amount: 9 }])
  })
})

test('viewing minutes of a channel are reported by time, distribution, country and tracking id', async () => {
  const at = `/channels/${channelId}/analytics/viewing-minutes`
  const [one, two, three] = ['01', '02', '03'].map((day) => `2026-01-${day}T00:00:00.000Z`)
  expect(await report(`${at}?${TIME}&resolution=day`)).toEqual([
    { timestamp: one, records: [{ id: channelId, amount: 1.2 }] },
    { timestamp: two, records: [] },
    { timestamp: three, records: [] },
  ])
  const [month] = await report(`${at}?${TIME}&resolution=month&groupBy=distribution`)
  expect(month).toEqual({ timestamp: one, records: [{ id: web, amount: 1.2 }] })
  expect(await report(`${at}?${TIME}&resolution=month&distributionIds=${app}`)).toEqual([
    { timestamp: one, records: [] },
  ])
  const own = `/distributions/${web}/analytics/viewing-minutes`
  expect(await report(`${own}?${TIME}&resolution=month`)).toEqual([
    { timestamp: one, records: [{ id: web, amount: 1.2 }] },
  ])
  for (const path of [at, own]) {
    expect(await report(`${path}/countries?${TIME}`)).toEqual([
      { countryCode: 'NZ', amount: 1 },
      { countryCode: 'AT', amount: 0.2 },
    ])
    expect((await live.v2('GET', `${path}/tracking-ids?${TIME}&limit=1`)).json).toEqual({
      data: [{ trackingId: 'a', amount: 1 }],
      pagination: { hasMore: true, cursor: expect.any(String) },
    })
  }
})

test('a cursor of the bytes report is not valid for the minutes report', async () => {
  const at = (counted: string) => `/channels/${channelId}/analytics/${counted}/tracking-ids?${TIME}&limit=1`
  const { cursor } = (await live.v2('GET', at('bytes-transferred'))).json.pagination
  const { status, json } = await live.v2('GET', `${at('viewing-minutes')}&cursor=${encodeURIComponent(cursor)}`)
  expect([status, json.code]).toEqual([400, 'invalid_cursor'])
})

test('transcoding minutes sum the runs, by engine or channel, with an open run up to now', async () => {
  const engines = await live.made('GET', `/channels/${channelId}/engines`)
  const [first, second] = engines.map(({ id }: { id: string }) => id)
  const { app: running, accountId } = live.running
  const run = (engineId: string, startedAtMs: number, endedAtMs: number | null) =>
    newRun({ accountId, channelId, engineId, startedAtMs, endedAtMs, heartbeatAtMs: startedAtMs })
  const nowMs = running.ctx.clock.now()
  await running.ctx.store.transaction(async (tx) => {
    await tx.runs.insert(run(first, FIRST + 90 * 60_000, FIRST + 150 * 60_000))
    await tx.runs.insert(run(second, FIRST + 119.5 * 60_000, FIRST + 120 * 60_000))
    await tx.runs.insert(run(second, nowMs - 600_000, null))
  })
  const at = `/channels/${channelId}/analytics/transcoding-minutes`
  const hours = 'start=2026-01-01T01:00:00Z&end=2026-01-01T03:00:00Z&resolution=hour'
  const byEngine = await report(`${at}?${hours}&groupBy=engine`)
  const ids = (records: { id: string }[]) => Object.fromEntries(records.map((one) => [one.id, one]))
  expect(byEngine.map(({ records }: { records: { id: string }[] }) => ids(records))).toEqual([
    { [first]: { id: first, amount: 30 }, [second]: { id: second, amount: 0.5 } },
    { [first]: { id: first, amount: 30 } },
  ])
  expect(await report(`${at}?${hours}&engineIds=${second}`)).toEqual([
    { timestamp: '2026-01-01T01:00:00.000Z', records: [{ id: channelId, amount: 0.5 }] },
    { timestamp: '2026-01-01T02:00:00.000Z', records: [] },
  ])
  const around = [nowMs - DAY_MS, nowMs + DAY_MS].map((ms) => new Date(ms).toISOString())
  const days = await report(`${at}?start=${around[0]}&end=${around[1]}&resolution=day`)
  const minutes = days.flatMap(({ records }: { records: { amount: number }[] }) => records.map((one) => one.amount))
  expect(minutes.reduce((sum: number, one: number) => sum + one, 0)).toBeGreaterThanOrEqual(9.98)
})

test('a report refuses unknown parameters, other accounts’ objects, and what Sluice does not count', async () => {
  const at = `/channels/${channelId}/analytics`
  const answer = async (path: string, headers = {}) => {
    const { status, json } = await live.v2('GET', path, undefined, headers)
    return [status, json.code, json.details?.map(({ path: of }: { path: string }) => of)]
  }
  expect(await answer(`${at}/bytes-transferred?resolution=week&country=NZ`)).toEqual([
    400,
    'validation_failed',
    expect.arrayContaining(['start', 'end', 'resolution', 'country']),
  ])
  expect(await answer(`${at}/bytes-transferred/countries?start=2026-01-02&end=2026-01-01`)).toEqual([
    400,
    'validation_failed',
    ['end'],
  ])
  expect(await answer(`${at}/bytes-transferred/tracking-ids?${TIME}&cursor=x`)).toEqual([
    400,
    'invalid_cursor',
    undefined,
  ])
  const foreign = { authorization: await strangerOf(live) }
  expect(await answer(`${at}/bytes-transferred?${TIME}&resolution=day`, foreign)).toEqual([404, 'not_found', undefined])
  expect(await answer(`${at}/transcoding-minutes?${TIME}&resolution=day`, foreign)).toEqual([
    404,
    'not_found',
    undefined,
  ])
  const formats = 'groupBy=streaming-format&streamingFormats=hls'
  expect(await answer(`${at}/viewing-minutes?${TIME}&resolution=day&${formats}`)).toEqual([
    400,
    'validation_failed',
    ['groupBy', 'streamingFormats'],
  ])
  expect(await answer(`${at}/viewing-minutes?${TIME}&resolution=day`, foreign)).toEqual([404, 'not_found', undefined])
  expect(await answer(`${at}/viewing-minutes/browsers?${TIME}`)).toEqual([501, 'not_supported', undefined])
  expect(await answer(`${at}/insights/viewers?period=day`)).toEqual([501, 'not_supported', undefined])
})

test('what a deleted channel served and ran stays readable for its account; a channel without any is not found', async () => {
  const { app: running, accountId } = live.running
  const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
  const idle = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
  const [engineId, distributionId] = [made.engines[0].id, made.distributions[0].id]
  const times = { startedAtMs: FIRST, endedAtMs: FIRST + 600_000, heartbeatAtMs: FIRST }
  const of = { accountId, channelId: made.id, distributionId, country: 'NZ', trackingId: '' }
  await running.ctx.store.transaction(async (tx) => {
    await tx.runs.insert(newRun({ accountId, channelId: made.id, engineId, ...times }))
    await tx.served.add([{ ...of, slotMs: FIRST, bytesOut: 700, viewedMs: 60_000 }])
  })
  const paths = [
    `/channels/${made.id}/runs`,
    `/engines/${engineId}/runs`,
    `/engines/${engineId}/last-run`,
    ...['transcoding-minutes', 'bytes-transferred', 'viewing-minutes'].map(
      (name) => `/channels/${made.id}/analytics/${name}?${TIME}&resolution=month`,
    ),
    `/distributions/${distributionId}/analytics/bytes-transferred?${TIME}&resolution=month`,
    `/distributions/${distributionId}/analytics/bytes-transferred/countries?${TIME}`,
  ]
  const answers = () =>
    Promise.all(paths.map((path) => live.v2('GET', path).then(({ status, json }) => [status, json])))
  const before = await answers()
  expect(before.map(([status]) => status)).toEqual(paths.map(() => 200))
  await live.v2('DELETE', `/channels/${made.id}`)
  expect((await live.v2('GET', `/channels/${made.id}`)).status).toBe(404)
  expect(await answers()).toEqual(before)
  const stranger = { authorization: await strangerOf(live) }
  for (const path of paths) expect((await live.v2('GET', path, undefined, stranger)).status).toBe(404)
  await live.v2('DELETE', `/channels/${idle.id}`)
  expect((await live.v2('GET', `/channels/${idle.id}/runs`)).status).toBe(404)
  expect((await live.v2('GET', `/engines/${idle.engines[0].id}/last-run`)).status).toBe(404)
})

test('a run names who started and stopped it, even after that credential is deleted', async () => {
  const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
  const { app: running, accountId } = live.running
  const actor = cliActor(accountId)
  const robot = await createCredential(running.ctx, actor, 'night robot', 'write')
  if (!robot.ok) throw new Error(JSON.stringify(robot.error))
  const authorization = `Basic ${Buffer.from(robot.value.value).toString('base64')}`
  for (const verb of ['start', 'stop']) {
    expect((await live.v2('POST', `/channels/${made.id}/${verb}`, undefined, { authorization })).status).toBe(204)
  }
  await deleteCredential(running.ctx, actor, robot.value.credential.id)
  const run = await live.made('GET', `/engines/${made.engines[0].id}/last-run`)
  expect(run).toMatchObject({ startType: 'api', startName: 'night robot', stopName: 'night robot' })
  expect(run.startId).toBe(`credential:${robot.value.credential.id}`)
})
