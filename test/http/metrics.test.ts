import { readdirSync, readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { countBytes, noteTracks, writeBytes } from '../../src/commands/sessions/count.ts'
import { registerChannelMetrics } from '../../src/edge/http/operations/channelMetrics.ts'
import { Samples } from '../../src/edge/http/operations/samples.ts'
import type { TrackInfo } from '../../src/media/frame.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish, startTestNode, type TestNode, tryToView, view } from '../support/testNode.ts'
import { eventually, until } from '../support/until.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array(0) }

const STREAMS = 200
const MAX_SERIES = 2000
const NAMES_IN_SOURCES = /\bsluice_[a-z_]+/g

/** The value of a series; undefined: it is not there. */
const valueIn = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

describe('the metrics of a node', () => {
  let clock: ManualClock
  let at: TestNode
  beforeEach(async () => {
    clock = new ManualClock()
    at = await startTestNode({ clock })
  })
  afterEach(() => at.close())
  const value = async (series: string) => valueIn(await at.scrape(), series)

  it('say how long ago its lease was renewed', async () => {
    expect(await value('sluice_node_lease_age_seconds')).toBe(0)
    clock.advance(7000)
    expect(await value('sluice_node_lease_age_seconds')).toBe(7)
    const renewed = await startTestNode({ url: at.url, clock, hostKey: 'renewed', renewed: true })
    clock.advance(9000)
    // A round of renewals comes every two seconds of the real clock.
    await until(async () => valueIn(await renewed.scrape(), 'sluice_node_lease_age_seconds') === 0, 'a renewal')
    await renewed.close()
  })

  it('say how long after a change of a token at another node the last session was cut', async () => {
    const other = await startTestNode({ url: at.url, clock: new ManualClock(clock.now() - 3000), hostKey: 'other' })
    const { token } = await makeToken(at, 'publish')
    const { id, token: subscribe } = await makeToken(at, 'subscribe')
    await publish(at, { presented: token })
    const viewers = [await view(at, { presented: subscribe }), await view(at, { presented: subscribe })]
    expect(await value('sluice_change_cut_seconds_count')).toBe(0)
    await other.call('DELETE', `/api/subscribe_token/${id}`)
    await eventually(async () => expect(await value('sluice_change_cut_seconds_count')).toBe(1))
    expect(viewers.map(({ cuts }) => cuts)).toEqual([['token_deleted'], ['token_deleted']])
    expect(await value('sluice_change_cut_seconds_bucket{le="2.5"}')).toBe(0)
    expect(await value('sluice_change_cut_seconds_bucket{le="5"}')).toBe(1)
    await other.close()
  })

  it('say the same of what an account says for its tokens, and of sessions that people end, here or there', async () => {
    const other = await startTestNode({ url: at.url, clock: new ManualClock(clock.now() - 3000), hostKey: 'other' })
    const { token } = await makeToken(at, 'publish')
    await publish(at, { presented: token })
    const [here, there] = [await view(at), await view(at)]
    const counts = async () => [
      await value('sluice_change_cut_seconds_bucket{le="2.5"}'),
      await value('sluice_change_cut_seconds_count'),
    ]
    await other.call('DELETE', `/api/sessions/${there.session.id}`)
    await eventually(async () => expect(await counts()).toEqual([0, 1]))
    await at.call('DELETE', `/api/sessions/${here.session.id}`)
    await eventually(async () => expect(await counts()).toEqual([1, 2]))
    await other.call('POST', '/api/geo/account', { allowedCountries: ['NZ'] })
    await eventually(async () => expect(await counts()).toEqual([1, 3]))
    await other.close()
  })

  it('have the free space and the size of the disk, and go without them when the disk cannot be asked', async () => {
    const space = vi.spyOn(at.ctx.store, 'diskSpace').mockResolvedValue({ freeBytes: 3e9, totalBytes: 80e9 })
    const read = async (): Promise<unknown> => {
      const text = await at.scrape()
      const names = ['sluice_disk_free_bytes', 'sluice_disk_size_bytes']
      return names.map((name) => valueIn(text, `${name}{what="database"}`))
    }
    expect(await read()).toEqual([3e9, 80e9])
    expect(space).toHaveBeenCalledTimes(1)
    space.mockResolvedValue({ freeBytes: 2e9, totalBytes: 80e9 })
    expect(await read()).toEqual([2e9, 80e9])
    space.mockResolvedValue(null)
    expect(await read()).toEqual([undefined, undefined])
    space.mockRestore()
  })

  it('have the queue of deliveries, and go without it while the database is away', async () => {
    const { store } = at.ctx
    const queued = 'sluice_webhook_deliveries_queued'
    expect(await value(`${queued}{state="pending"}`)).toBe(0)
    const hook = await at.call('POST', '/api/webhooks', { url: 'https://example.com/', isFeedHooks: true })
    const event = { type: 'feeds', event: 'started', subject: null, createdAtMs: clock.now(), error: null, data: '{}' }
    const to = { webhookId: Number(hook.json.data.id), accountId: at.accountId, state: 'pending' } as const
    const rows = [1, 2, 3].map((n) => ({ ...to, ...event, id: `d${n}`, eventId: `e${n}` }))
    await store.transaction((tx) => tx.deliveries.insert(rows))
    expect([await value(`${queued}{state="pending"}`), await value(`${queued}{state="waiting"}`)]).toEqual([3, 0])
    const queue = vi.spyOn(store.read.deliveries, 'queue').mockRejectedValueOnce(new StoreUnavailable('away'))
    const text = await at.scrape()
    expect([valueIn(text, `${queued}{state="pending"}`), valueIn(text, 'sluice_feeds')]).toEqual([undefined, 0])
    queue.mockRestore()
  })

  it('have what the publisher of a stream sends', async () => {
    const { token } = await makeToken(at, 'publish')
    const { session } = await publish(at, { presented: token })
    for (let n = 1; n <= 6; n++) {
      noteTracks(at.ctx, session.id, [VIDEO])
      at.ctx.streamMeter.sample()
      clock.advance(2000)
      const source = { keyframeMs: 1500, packetLoss: 0.02 }
      countBytes(at.ctx, session.id, { bytesIn: n * 250_000, bytesOut: 0, frames: n * 60, source })
    }
    at.ctx.streamMeter.sample()
    const text = await at.scrape()
    const of = (name: string) => valueIn(text, `${name}{account="${at.accountId}",stream="show"}`)
    expect(of('sluice_stream_source_bits_per_second')).toBe(1_000_000)
    expect(of('sluice_stream_source_frames_per_second')).toBe(30)
    expect(of('sluice_stream_source_loss_ratio')).toBe(0.02)
    expect(of('sluice_stream_source_keyframe_seconds')).toBe(1.5)
  })

  it('have deliveries by outcome, rounds of writing, and refusals that are folded or left out', async () => {
    const { ctx } = at
    ctx.deliveries.add('delivered')
    expect(await value('sluice_webhook_deliveries_total{outcome="delivered"}')).toBe(1)
    const { token } = await makeToken(at, 'publish')
    await publish(at, { presented: token })
    const { session } = await view(at)
    countBytes(ctx, session.id, { bytesIn: 0, bytesOut: 5 })
    expect(await value('sluice_writing_seconds')).toBe(0)
    const writing = writeBytes(ctx)
    clock.advance(250)
    await writing
    expect(await value('sluice_writing_seconds')).toBe(0.25)
    expect(await value('sluice_written_rows_total')).toBeGreaterThan(0)
    const tryWrong = (streamName: string) => tryToView(at, { streamName, presented: 'wrong' })
    // A value before the first, or the `increase` of an alert would not see it.
    expect(await value('sluice_access_log_dropped_total{reason="address_budget"}')).toBe(0)
    await tryWrong('show')
    // Then the log knows that there is such an account.
    await ctx.recorder.reconcile()
    await tryWrong('show')
    expect(await value('sluice_access_log_folded_total')).toBe(1)
    for (let n = 0; n < 100; n++) await tryWrong(`stream${n}`)
    expect(await value('sluice_access_log_dropped_total{reason="address_budget"}')).toBeGreaterThan(0)
  })

  it('of channels are those that the node reports', async () => {
    const registry = new Registry()
    const pace = {
      speed: 0.5,
      lagMs: 2500,
      cores: 1.5,
      isOverloaded: true,
      leftOut: ['180p'],
      droppedFrames: 7,
      isSettled: true,
    }
    registerChannelMetrics(new Samples(registry), () => ({
      census: { engines: new Map([['playing', 2]]), channels: new Map([['playing', 1]]) },
      paces: [['e1', pace]],
      droppedFrames: 7,
      ingests: 3,
      ffmpeg: { running: 4, most: 8 },
      viewers: 9,
    }))
    const text = await registry.metrics()
    for (const [series, expected] of [
      ['sluice_engine_lag_seconds{engine="e1"}', 2.5],
      ['sluice_engine_cores{engine="e1"}', 1.5],
      ['sluice_engine_dropped_frames_total', 7],
      ['sluice_ffmpeg_processes_max', 8],
      ['sluice_distribution_viewers', 9],
    ] as const)
      expect([series, valueIn(text, series)]).toEqual([series, expected])
  })
})

describe('a server', () => {
  let sluice: RunningApp
  const engine = new ScriptedEngine()
  beforeAll(async () => {
    sluice = await runApp({ engine })
  })
  afterAll(() => sluice.close())

  it(`with ${STREAMS} streams has at most ${MAX_SERIES} series`, async () => {
    const at = { ...sluice, ctx: sluice.app.ctx }
    const { token } = await makeToken(at, 'publish')
    const names = Array.from({ length: STREAMS }, (_, n) => `stream${n}`)
    const source = { keyframeMs: 2000, packetLoss: 0 }
    for (const streamName of names) {
      const { session } = await publish(at, { presented: token, streamName })
      await view(at, { streamName, ip: `192.0.2.${names.indexOf(streamName)}` })
      countBytes(at.ctx, session.id, { bytesIn: 1, bytesOut: 0, frames: 1, source })
      const room = `${at.accountId}/${streamName}`
      const said = { room, nacks: 1, keyframeRequests: 1, lossShare: 0.1, roundTripMs: 50, firstPacketsMs: [80] }
      engine.emit({ kind: 'feedback', rooms: [said] })
    }
    for (let process = 0; process < 16; process++)
      engine.emit({ kind: 'waits', process, meanMs: 1, mostMs: 2, late: 0, load: 0.3 })
    const { text } = await sluice.call('GET', '/metrics')
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(series.filter((line) => line.startsWith('sluice_stream_viewers{'))).toHaveLength(100)
    expect(series.length).toBeLessThanOrEqual(MAX_SERIES)
  })
})

it('each metric has a test that names it', () => {
  const read = (folder: URL): string =>
    readdirSync(folder, { recursive: true })
      .filter((name) => String(name).endsWith('.ts'))
      .map((name) => readFileSync(new URL(String(name), folder), 'utf8'))
      .join('\n')
  const named = new Set(read(new URL('../../src/edge/http/operations/', import.meta.url)).match(NAMES_IN_SOURCES))
  const tests = read(new URL('../', import.meta.url))
  expect([...named].filter((name) => !tests.includes(name))).toEqual([])
})
