import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { servedBy } from '../support/served.ts'
import { StagedEngine } from '../support/stagedEngine.ts'

let live: ChannelsClient
beforeAll(async () => {
  const caches = ['127.0.0.1']
  live = await runChannels({ flags: { server: { trustedProxies: caches }, hls: { reportingCaches: caches } } })
})
afterAll(() => live.close())

const post = (body: object) => live.running.call('POST', '/hls/cache-log', body, { authorization: '' })

it('what a cache sent to viewers of a distribution counts once, for its tracking id, and what the cache fetched does not', async () => {
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'main' }] }],
    distributions: [{ name: 'web', security: { keys: [{ key: 'a shared secret of this test' }] } }],
  })
  const [[{ id: engineId }], [{ id }]] = [made.engines, made.distributions]
  const engine = new StagedEngine(live.running.app.channelStreams, engineId).begin().play(3)
  const keys = `/distributions/${id}/security/keys`
  const [key] = await live.made('GET', keys)
  const { token } = await live.made('POST', `${keys}/${key.id}/sign`, { trackingId: 'crew' })
  const folder = () => playbackFolder(live.running.base, id, engineId, '0', `?token=${token}`)
  const viewers = [await folder(), await folder()]
  const segment = `s${engine.stream.facts('0')?.segments[0]?.n}.m4s`
  for (const viewer of viewers)
    expect((await live.running.call('GET', `${viewer}/${segment}`, undefined, { authorization: '' })).status).toBe(200)

  const sent = viewers.map((viewer) => {
    const [, ticket, stream] = /~([^/]+)\/([^/]+)/.exec(viewer) ?? []
    return { ticket, stream, answers: 4, bytes: 5000 }
  })
  const log = createHash('sha256').update('a log').digest('hex')
  const report = { log, from: 0, to: 900, sent: [...sent, { ...sent[0], stream: 'di_none' }] }
  expect((await post(report)).json).toEqual({ isCounted: true, position: 900, ignored: { forged: 1, unknown: 0 } })
  expect((await post(report)).json).toMatchObject({ isCounted: false, position: 900 })
  const counted = async () =>
    (await servedBy(live.running.app.ctx.store, id)).map(({ trackingId, bytesOut }) => [trackingId, bytesOut])
  expect(await counted()).toEqual([['crew', 10_000]])

  const day = new Date(live.running.app.ctx.clock.now()).toISOString().slice(0, 10)
  const time = `start=${day}&end=2100-01-01`
  const marked = { amount: 10_000, bytesFromCaches: 10_000 }
  const reportOf = async (path: string) =>
    (await live.v2('GET', `/distributions/${id}/analytics/bytes-transferred${path}`)).json.data
  const [tracked] = await reportOf(`/tracking-ids?${time}`)
  expect(tracked).toEqual({ trackingId: 'crew', ...marked })
  expect(await reportOf(`/countries?${time}`)).toEqual([{ countryCode: 'ZZ', ...marked }])
  const now = `start=${day}&end=${new Date(Date.parse(day) + 2 * 86_400_000).toISOString().slice(0, 10)}&resolution=day`
  const byDay: { records: object[] }[] = await reportOf(`?${now}`)
  expect(byDay.flatMap(({ records }) => records)).toEqual([{ id, ...marked }])
  const minutes = (await live.v2('GET', `/distributions/${id}/analytics/viewing-minutes?${now}`)).json.data
  expect(JSON.stringify(minutes)).not.toContain('bytesFromCaches')

  await live.made('DELETE', `/channels/${made.id}`)
  const later = await post({ log, from: 900, to: 1000, sent: [sent[0]] })
  expect(later.json).toEqual({ isCounted: true, position: 1000, ignored: { forged: 0, unknown: 1 } })
})
