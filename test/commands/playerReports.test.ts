import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { type Random, systemRandom } from '../../src/base/random.ts'
import { readAudience } from '../../src/commands/audience/readAudience.ts'
import { readViewerRecords } from '../../src/commands/audience/viewerRecords.ts'
import { writeAudience } from '../../src/commands/audience/writeHours.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { noteCmcd, takePlayerReport } from '../../src/commands/sessions/playerReport.ts'
import { writeLastReadings } from '../../src/commands/streams/lastReadings.ts'
import { listSessions } from '../../src/commands/sessions/sessions.ts'
import { forgetViewer } from '../../src/commands/viewers/forget.ts'
import type { ViewerRecord } from '../../src/core/audience/records.ts'
import type { AudienceReport } from '../../src/core/audience/report.ts'
import { cliActor } from '../../src/commands/context.ts'
import type { ActiveSession } from '../../src/media/sessionRegistry.ts'
import { PlayerReports } from '../../src/services/playerReports.ts'
import type { Store } from '../../src/store/store.ts'
import { crowd } from '../support/crowd.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000]
const BEGIN = Date.UTC(2026, 0, 31, 12, 10)
/** Its own: those of `systemRandom` follow the last id that another file of this process made, by the time of today. */
const random: Random = { bytes: (count) => systemRandom.bytes(count) }
const FIRST = { n: 1, start: 900, played: 50_000, stalls: 1, stalled: 2000, frames: 1000, dropped: 10, switches: 0 }

describe.each(testedStores())('on %s, reports of players', (engine) => {
  let place: Place
  let clock: ManualClock
  let nodes: [TestNode, TestNode]
  beforeAll(async () => {
    place = await newPlace(engine)
    clock = new ManualClock(BEGIN)
    const start = () => startTestNode({ url: place.url, clock })
    nodes = [await start(), await start()]
  })
  afterAll(async () => {
    for (const node of nodes) await node.close()
    await place.remove()
  })

  async function viewer(node: 0 | 1, streamName: string, more: object = {}): Promise<string> {
    const [session] = await crowd(nodes[node].ctx, nodes[node].accountId, streamName, 1, more)
    const id = session?.id ?? ''
    countBytes(nodes[node].ctx, id, { bytesIn: 0, bytesOut: 1000 })
    return id
  }
  const report = (node: 0 | 1, id: string, more: object) =>
    takePlayerReport(nodes[node].ctx, id, JSON.stringify({ ...FIRST, ...more }))

  async function write(): Promise<void> {
    for (const { ctx, node } of nodes) {
      await ctx.playerReports.write(ctx.store)
      await node.count()
    }
  }

  async function read(query: object = {}): Promise<AudienceReport> {
    clock.advance(1000)
    const [at] = nodes
    const days = { startDate: '2026-01-31', stopDate: '2026-02-01' }
    const found = await readAudience(at.ctx, at.accountId, { ...days, ...query })
    if (!found.ok) throw new Error(JSON.stringify(found.error))
    return found.value
  }

  it('are in the figures of all nodes, by stream and by every other division, and stay when their hour is over', async () => {
    const here = await viewer(0, 'news', { country: 'AT' })
    const there = await viewer(1, 'news', { country: 'NZ', protocol: 'hls' })
    const other = await viewer(1, 'cats', { country: 'AT' })
    clock.advance(MINUTE_MS)
    expect(report(0, here, {})).toEqual({ ok: true, value: undefined })
    report(0, here, {})
    report(1, other, { start: undefined, failed: 'not_connected', played: 0, stalls: 0, stalled: 0 })
    noteCmcd(nodes[1].ctx, there, 'bl=3000,mtp=4000,su')
    clock.advance(2000)
    noteCmcd(nodes[1].ctx, there, 'bl=5000,bs')
    await write()
    const cats = { players: 1, started: 0, failures: { not_connected: 1 } }
    const check = async (): Promise<void> => {
      const { total, by } = await read({ by: 'streamName,country,protocol' })
      expect(total.quality).toMatchObject({
        players: 2,
        started: 1,
        startSeconds: 0.9,
        failures: { not_connected: 1 },
        playedSeconds: 50,
        stalls: 1,
        stalledSeconds: 2,
        droppedPercent: 1,
        cmcd: { players: 1, startSeconds: 62, starved: 1, bufferSeconds: 4, kbps: 4000 },
      })
      expect(by.streamName?.find(({ value }) => value === 'cats')?.quality).toMatchObject(cats)
      expect(by.country?.map(({ value, quality }) => [value, quality?.players, quality?.cmcd.players])).toEqual([
        ['AT', 2, 0],
        ['NZ', 0, 1],
      ])
      expect((await read({ country: 'AT', streamName: 'cats' })).total.quality).toMatchObject(cats)
      expect((await read({ protocol: 'hls' })).total.quality?.cmcd.starved).toBe(1)
    }
    await check()
    for (const [node, id] of [
      [0, here],
      [1, there],
      [1, other],
    ] as const)
      await closeSession(nodes[node].ctx, id, 'left')
    clock.advance(HOUR_MS)
    await writeAudience(nodes[0].ctx)
    await check()
    // The day and the month have the same.
    clock.advance(40 * 24 * HOUR_MS)
    await writeAudience(nodes[0].ctx)
    await check()
    expect((await read({ startDate: '2026-01-01', stopDate: '2026-02-01' })).total.quality?.stalls).toBe(1)
  })

  /** Of each session of a stream, as its record and the list have it. */
  async function each(streamName: string) {
    const { ctx, accountId } = nodes[0]
    const records = readViewerRecords(ctx, accountId, 'query', { streamName })
    if (!records.ok) throw new Error(JSON.stringify(records.error))
    const lines: ViewerRecord[] = []
    for await (const page of records.value) lines.push(...page)
    const sessions = await listSessions(ctx, ctx.sign, accountId, { limit: '100' })
    if (!sessions.ok) throw new Error(JSON.stringify(sessions.error))
    return new Map(
      lines.map((line) => [
        line.recordId,
        { line, quality: sessions.value.data.find(({ id }) => id === line.recordId)?.quality },
      ]),
    )
  }

  it('are in the record and the list of their viewer alone, and absurd ones change nothing of others', async () => {
    const timed = () => ({ id: timeOrderedId(clock.now(), random) })
    const [here, there] = [await viewer(0, 'each', timed()), await viewer(1, 'each', timed())]
    const silent = await viewer(0, 'each', timed())
    clock.advance(MINUTE_MS)
    report(1, there, { stalls: 3, stalled: 9000 })
    await write()
    // Of its own node's sessions it has what was not written yet.
    report(0, here, { height: 720, behind: 400 })
    const before = await each('each')
    expect(before.get(here)?.quality).toEqual({
      reportedBy: 'player',
      startSeconds: 0.9,
      startFailure: null,
      playedSeconds: 50,
      stalls: 1,
      stalledSeconds: 2,
      behindSeconds: 0.4,
      droppedPercent: 1,
      height: 720,
    })
    expect(before.get(there)?.quality).toMatchObject({ stalls: 3, stalledSeconds: 9, height: null })
    expect(before.get(silent)?.quality).toBe(undefined)
    for (const [id, { line, quality }] of before)
      expect(line).toMatchObject(id === silent ? { reportedBy: null, stalls: null } : { ...quality })
    const most = Number.MAX_SAFE_INTEGER
    report(1, there, { n: 2, start: 0, played: most, stalls: most, stalled: most, dropped: most, behind: most })
    report(1, there, { n: 3, played: -1 })
    report(1, there, { n: 4, played: 1e300 })
    clock.advance(MINUTE_MS)
    await write()
    const after = await each('each')
    for (const id of [here, silent]) expect(after.get(id)?.quality).toEqual(before.get(id)?.quality)
    expect(after.get(there)?.quality).toMatchObject({ startSeconds: 0.9, playedSeconds: 60, stalledSeconds: 120 })
  })

  it('of a session that never played count too, and its last report may come after its end', async () => {
    const [session] = await crowd(nodes[0].ctx, nodes[0].accountId, 'late', 1)
    const id = session?.id ?? ''
    clock.advance(3000)
    await closeSession(nodes[0].ctx, id, 'left')
    clock.advance(2000)
    expect(report(0, id, { start: undefined, failed: 'left', played: 9_000_000 }).ok).toBe(true)
    await write()
    const { total } = await read({ startDate: '2026-03-01', stopDate: '2026-04-01', streamName: 'late' })
    expect(total).toMatchObject({ views: 0, quality: { players: 1, failures: { left: 1 }, playedSeconds: 3 } })
    clock.advance(31_000)
    await write()
    expect(report(0, id, { n: 2 })).toEqual({ ok: false, error: 'unknown' })
  })

  it('are written when their node stops, whose sessions have ended', async () => {
    const id = await viewer(1, 'stopped')
    clock.advance(3000)
    expect(report(1, id, { played: 2000, stalls: 0, stalled: 0 }).ok).toBe(true)
    await closeSession(nodes[1].ctx, id, 'left')
    await writeLastReadings(nodes[1].ctx)
    const { total } = await read({ startDate: '2026-01-31', stopDate: '2026-04-01', streamName: 'stopped' })
    expect(total.quality).toMatchObject({ players: 1, playedSeconds: 2 })
  })

  it('count in the hour of the last media if that ended before the report came', async () => {
    clock.advance(HOUR_MS - (clock.now() % HOUR_MS) - 20_000)
    const beginMs = clock.now()
    const id = await viewer(0, 'edge')
    clock.advance(25_000)
    expect(report(0, id, { stalls: 7 }).ok).toBe(true)
    clock.advance(20_000)
    await closeSession(nodes[0].ctx, id, 'left')
    await write()
    clock.advance(HOUR_MS)
    await writeAudience(nodes[0].ctx)
    const hourOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 13)}:00Z`
    const hour = { startDate: hourOf(beginMs), stopDate: hourOf(beginMs + HOUR_MS), streamName: 'edge' }
    expect((await read(hour)).total.quality?.stalls).toBe(7)
  })

  it('are taken of viewers alone, and of sessions that exist', async () => {
    expect(report(0, 'x'.repeat(22), {})).toEqual({ ok: false, error: 'unknown' })
    const [publisher] = await crowd(nodes[0].ctx, nodes[0].accountId, 'news', 1, {
      action: 'publish',
      protocol: 'whip',
    })
    expect(report(0, publisher?.id ?? '', {})).toEqual({ ok: false, error: 'unknown' })
    const [preview] = await crowd(nodes[0].ctx, nodes[0].accountId, 'news', 1, { action: 'preview' })
    expect(report(0, preview?.id ?? '', {})).toEqual({ ok: false, error: 'unknown' })
  })

  it('count no bytes and do not prolong a session', async () => {
    const id = await viewer(0, 'news')
    const before = { ...nodes[0].ctx.sessions.get(id) }
    clock.advance(MINUTE_MS)
    report(0, id, {})
    noteCmcd(nodes[0].ctx, id, 'bs')
    const { bytes, mediaAtMs } = nodes[0].ctx.sessions.get(id) ?? {}
    expect({ bytes, mediaAtMs }).toEqual({ bytes: before.bytes, mediaAtMs: before.mediaAtMs })
  })

  it('go when a viewer is forgotten, and none is written after', async () => {
    const { ctx, accountId } = nodes[0]
    const id = await viewer(0, 'secret', { address: '198.51.100.7' })
    clock.advance(MINUTE_MS)
    report(0, id, {})
    await write()
    await closeSession(ctx, id, 'left')
    const month = { startDate: '2026-03-01', stopDate: '2026-04-01', streamName: 'secret' }
    expect((await read(month)).total.quality?.players).toBe(1)
    await forgetViewer(ctx, cliActor(accountId), { address: '198.51.100.7' }, false)
    report(0, id, { n: 2, stalls: 5 })
    await write()
    expect((await read(month)).total.quality).toBeUndefined()
  })
})

test('a session that ends while reports are switched off is forgotten as every other one', async () => {
  const clock = new ManualClock(BEGIN)
  let isOn = true
  const reports = new PlayerReports(clock, () => isOn)
  const session = { id: 'a', action: 'view', startedAtMs: BEGIN }
  const entry = { session, admittedAtMs: clock.monotonic() } as ActiveSession
  const written: string[] = []
  const report = async (rows: readonly { id: string }[]) => void written.push(...rows.map(({ id }) => id))
  const store = {
    transaction: (work: (tx: object) => Promise<void>) => work({ sessions: { report } }),
  } as unknown as Store
  const hasReported = (open?: ActiveSession) => reports.with('a', open, () => true)
  expect(hasReported(entry)).toBe(true)
  isOn = false
  reports.ended(entry, clock.now())
  await reports.write(store)
  expect(written).toEqual(['a'])
  clock.advance(30_000)
  await reports.write(store)
  expect(hasReported()).toBe(false)
})
