import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, noteTracks } from '../../src/commands/sessions/count.ts'
import { readStreamHealth } from '../../src/commands/streams/streamsOnAir.ts'
import { pruneRecords } from '../../src/commands/retention.ts'
import { POINTS_A_SLOT } from '../../src/services/streamMeter.ts'
import { overriding } from '../../src/store/nouns.ts'
import type { StoredPoint } from '../../src/store/store.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode, type Use } from '../support/testNode.ts'

const VIDEO = { kind: 'video', codec: 'h264', width: 1920, height: 1080, config: new Uint8Array() } as const
const KEEP = { accessLogDays: 9, auditDays: 9, deliveryDays: 9, sessionDays: 9, usageDays: 9, runDays: 9 }

let clock: ManualClock
let at: TestNode
let token: string
beforeEach(async () => {
  clock = new ManualClock(Date.UTC(2026, 0, 1))
  at = await startTestNode({ clock })
  token = (await makeToken(at, 'publish', { multisource: true, streams: [{ streamName: '.*', isRegex: true }] })).token
})
afterEach(() => at.close())

async function start(use: Use = {}): Promise<Connection> {
  const publisher = await publish(at, { presented: token, ...use })
  noteTracks(at.ctx, publisher.session.id, [VIDEO])
  return publisher
}

/** Each publisher sends 1 Mbit/s for so long, and the node writes what it measured, as its jobs do. */
async function run(seconds: number, publishers: readonly Connection[], source = {}): Promise<StoredPoint[][]> {
  const written: StoredPoint[][] = []
  const { store } = at.ctx
  const transaction: typeof store.transaction = (work) =>
    store.transaction((tx) => {
      const put = (points: readonly StoredPoint[]) => (written.push([...points]), tx.feedHealth.put(points))
      return work(overriding(tx, { feedHealth: overriding(tx.feedHealth, { put }) }))
    })
  for (let second = 1; second <= seconds; second += 1) {
    clock.advance(1000)
    for (const { session } of publishers) {
      const entry = at.ctx.sessions.get(session.id)
      if (!entry) throw new Error('no entry')
      const frames = (entry.media?.frames ?? 0) + 25
      countBytes(at.ctx, session.id, { bytesIn: entry.bytes.bytesIn + 125_000, bytesOut: 0, frames, source })
    }
    if (second % 2 === 0) at.ctx.streamMeter.sample()
    if (second % 5 === 0) await at.ctx.streamMeter.write({ ...store, transaction })
  }
  return written.filter((points) => points.length > 0)
}

const health = async (query = '', name = 'show') => at.call('GET', `/api/streams/${name}/health${query}`)
/** Past the routes, which admit nothing after hours without a look at the store. */
const read = (query: Record<string, unknown> = {}) => readStreamHealth(at.ctx, at.accountId, 'show', query)
async function pointsOf(query: Record<string, unknown>): Promise<readonly object[] | undefined> {
  const found = await read(query)
  return found.ok ? found.value.history?.sources[0]?.points : undefined
}

describe('the history of a stream', () => {
  it('has one point in ten seconds for the last hour, here and at another node, also when the stream has ended', async () => {
    const publisher = await start()
    await run(30, [publisher], { keyframeMs: 2000, packetLoss: 0.01, roundTripMs: 40 })
    const { feeds, history } = (await health()).json.data
    expect(feeds).toHaveLength(1)
    const figures = { bitrateIn: 1_000_000, frameRate: 25, keyframeMs: 2000, packetLoss: 0.01, roundTripMs: 40 }
    expect(history).toEqual({
      slotSeconds: 10,
      sources: [
        {
          points: [0, 10, 20, 30].map((second) => ({
            at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
            ...figures,
          })),
        },
      ],
    })
    const other = await startTestNode({ url: at.url, clock })
    const there = await other.call('GET', '/api/streams/show/health')
    await other.close()
    expect(there.json.data.history).toEqual(history)

    expect((await health('?history=false')).json.data).not.toHaveProperty('history')
    await closeSession(at.ctx, publisher.session.id, 'left')
    expect((await health()).json.data).toMatchObject({ feeds: [], history })
    expect((await health('?history=false')).status).toBe(404)
    expect((await health('?from=2025-12-01T00:00:00Z')).status).toBe(400)
    clock.advance(3_600_000)
    expect(await read()).toMatchObject({ ok: false, error: { code: 'not_found' } })
    expect(await pointsOf({ until: '2026-01-01T01:00:00Z' })).toHaveLength(4)
  })

  it('goes on with the next publisher of the source, and is another of another source', async () => {
    const first = await start()
    await run(20, [first])
    await closeSession(at.ctx, first.session.id, 'left')
    const [second, left] = [await start(), await start({ sourceId: 'left' })]
    await run(20, [second, left])
    const { sources } = (await health()).json.data.history
    expect(sources).toMatchObject([{}, { sourceId: 'left' }])
    const times = sources.map(({ points }: { points: { at: string }[] }) => points.map((one) => one.at.slice(17, 19)))
    expect(times).toEqual([
      ['00', '10', '20', '30', '40'],
      ['30', '40'],
    ])
  })

  it('is kept for a day, and shown with the mean of longer slots', async () => {
    const publisher = await start()
    await run(30, [publisher])
    clock.advance(23 * 3_600_000)
    await pruneRecords(at.ctx, KEEP)
    expect(await pointsOf({ from: '2026-01-01T00:00:00Z' })).toEqual([
      { at: '2026-01-01T00:00:00.000Z', bitrateIn: 1_000_000, frameRate: 25 },
    ])
    clock.advance(3_600_000)
    await pruneRecords(at.ctx, KEEP)
    expect(await pointsOf({ until: '2026-01-01T01:00:00Z' })).toHaveLength(1)
    clock.advance(3_600_000)
    await pruneRecords(at.ctx, KEEP)
    expect(await pointsOf({ until: '2026-01-01T01:00:00Z' })).toBeUndefined()
  })

  it('costs a node one statement in ten seconds, of few rows, however many feeds it has: they take turns', async () => {
    const count = POINTS_A_SLOT + 50
    const publishers = []
    for (let index = 0; index < count; index += 1)
      publishers.push(await start({ streamName: `show-${index}`, ip: `192.0.2.${index % 250}` }))
    const written = await run(30, publishers)
    expect(written.map((points) => points.length)).toEqual([200, 200, 200, 200])
    const ofFeed = Map.groupBy(written.flat(), ({ feedId }) => feedId)
    expect(ofFeed.size).toBe(count)
    expect(new Set([...ofFeed.values()].map((points) => points.length))).toEqual(new Set([3, 4]))
  })
})
