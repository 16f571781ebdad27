import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { jsonOf } from '../../src/base/objects.ts'
import { readAudience } from '../../src/commands/audience/readAudience.ts'
import { writeAudience } from '../../src/commands/audience/writeHours.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { pruneRecords } from '../../src/commands/retention.ts'
import { analyse, type ReportName } from '../../src/commands/usage/reports.ts'
import type { AudienceFigures, AudienceReport } from '../../src/core/audience/report.ts'
import { UNKNOWN_VALUES } from '../../src/core/audience/query.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { crowd } from '../support/crowd.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]
const BEGIN = Date.UTC(2026, 0, 31, 21, 20)
const KILLED = BEGIN + 90 * MINUTE_MS

/** A viewer of the script. */
interface Scripted {
  readonly startMs: number
  /** Its last media. */
  readonly endMs: number
  readonly streamName: string
  readonly node: 0 | 1
  readonly protocol: 'whep' | 'hls'
  readonly country: string | null
  readonly site: string | null
  readonly device: 'desktop' | 'mobile'
  readonly browser: string
  readonly address: string
}

/** The same numbers at each run, from 0 up to `below`. */
function numbers(): (below: number) => number {
  let state = 7
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function scriptOf(): Scripted[] {
  const next = numbers()
  const pick = <T>(of: readonly T[]): T => of[next(of.length)] as T
  return Array.from({ length: 200 }, () => {
    const startMs = BEGIN + next(220 * 60) * 1000
    const node = pick([0, 1] as const)
    const untilMs = startMs + pick([2, 4, 5, 30, 300, 1800, 7000]) * 1000
    const isKilled = node === 1 && startMs < KILLED && untilMs > KILLED
    return {
      startMs,
      endMs: isKilled ? KILLED : untilMs,
      // After its death the second node serves nothing.
      node: startMs >= KILLED ? 0 : node,
      streamName: pick(['news', 'sports', 'cats']),
      protocol: pick(['whep', 'hls'] as const),
      country: pick(['AT', 'IN', null]),
      site: pick(['tv.example.com', 'mirror.example.org', null]),
      device: pick(['desktop', 'mobile'] as const),
      browser: pick(['Chrome', 'Safari', 'Firefox']),
      address: `192.0.2.${next(60) + 1}`,
    }
  })
}

/** What the figures of the script are, counted one view after the other. */
function expectedOf(script: readonly Scripted[], fromMs: number, untilMs: number) {
  const views = script.filter(({ startMs, endMs }) => endMs - startMs >= 5000 && endMs > fromMs && startMs < untilMs)
  const clipped = views.map(({ startMs, endMs }) => [Math.max(startMs, fromMs), Math.min(endMs, untilMs)] as const)
  const at = (ms: number) => clipped.filter(([from, until]) => from <= ms && until > ms).length
  return {
    views: views.filter(({ startMs }) => startMs >= fromMs).length,
    watchSeconds: clipped.reduce((sum, [from, until]) => sum + (until - from) / 1000, 0),
    mostAtOnce: Math.max(0, ...clipped.map(([from]) => at(from))),
  }
}

const viewersOf = (script: readonly Scripted[]): number =>
  new Set(script.filter(({ startMs, endMs }) => endMs - startMs >= 5000).map(({ address }) => address)).size

const figuresOf = ({ views, watchSeconds, mostAtOnce }: AudienceFigures) => ({ views, watchSeconds, mostAtOnce })

const VALUES: Readonly<Record<string, (one: Scripted) => string>> = {
  streamName: (one) => one.streamName,
  protocol: (one) => one.protocol,
  country: (one) => one.country ?? UNKNOWN_VALUES.country,
  site: (one) => one.site ?? UNKNOWN_VALUES.site,
  device: (one) => one.device,
  browser: (one) => one.browser,
}

describe.each(testedStores())('on %s, the audience', (engine) => {
  let place: Place
  let clock: ManualClock
  let nodes: TestNode[]
  const script = scriptOf()
  beforeAll(async () => {
    place = await newPlace(engine)
    clock = new ManualClock(BEGIN)
    nodes = [await startTestNode({ url: place.url, clock }), await startTestNode({ url: place.url, clock })]
  })
  afterAll(async () => {
    await nodes[0]?.close()
    await place.remove()
  })
  const at = (): TestNode => nodes[0] as TestNode

  const moveTo = (ms: number): void => clock.advance(ms - clock.now())

  /** A new report: the one before is kept for a second. */
  async function report(query: Record<string, unknown>): Promise<AudienceReport> {
    clock.advance(1000)
    const read = await readAudience(at().ctx, at().accountId, query)
    if (!read.ok) throw new Error(JSON.stringify(read.error))
    return read.value
  }

  const DAYS = { startDate: '2026-01-31', stopDate: '2026-02-02' }
  const SPAN = [Date.UTC(2026, 0, 31), Date.UTC(2026, 1, 2)] as const

  async function start(one: Scripted): Promise<() => Promise<void>> {
    moveTo(one.startMs)
    const { ctx } = nodes[one.node] as TestNode
    const more: Partial<Session> = {
      protocol: one.protocol,
      country: one.country,
      address: one.address,
      origin: one.site && `https://${one.site}:8443`,
      client: { device: one.device, browser: one.browser },
    }
    const [session] = await crowd(ctx, at().accountId, one.streamName, 1, more)
    const id = session?.id ?? ''
    countBytes(ctx, id, { bytesIn: 0, bytesOut: 1 })
    return async () => {
      moveTo(one.endMs)
      countBytes(ctx, id, { bytesIn: 0, bytesOut: 1000 })
      await closeSession(ctx, id, 'left')
    }
  }

  it('equals the script: views, watch time and peaks, by every filter, over two nodes of which one was killed', async () => {
    const steps: { atMs: number; run: () => Promise<unknown> }[] = []
    const ends = new Map<Scripted, () => Promise<void>>()
    for (const one of script) {
      steps.push({ atMs: one.startMs, run: async () => ends.set(one, await start(one)) })
      if (one.node === 0 || one.endMs < KILLED) steps.push({ atMs: one.endMs, run: async () => ends.get(one)?.() })
    }
    steps.push({ atMs: KILLED, run: kill })
    // Hours are written while others are watched.
    for (let hour = 1; hour < 8; hour++) steps.push({ atMs: BEGIN + hour * 45 * MINUTE_MS, run: writeHours })
    steps.sort((a, b) => a.atMs - b.atMs)
    for (const { atMs, run } of steps) {
      moveTo(Math.max(atMs, clock.now()))
      await run()
    }
    await compare()
    moveTo(SPAN[1])
    // As two nodes do at the same time.
    await Promise.all([writeAudience(at().ctx), writeAudience(at().ctx)])
    await compare()
  })

  async function writeHours(): Promise<void> {
    // A node writes its bytes every few seconds.
    for (const { node } of clock.now() < KILLED ? nodes : nodes.slice(0, 1)) await node.count()
    await writeAudience(at().ctx)
  }

  async function kill(): Promise<void> {
    const dead = nodes[1] as TestNode
    moveTo(KILLED)
    await dead.node.count()
    const { node } = dead.ctx.sessions
    await dead.crash()
    // As the others do.
    await at().ctx.store.transaction((tx) => tx.sessions.endOfNode(node, { atMs: KILLED, reason: 'lost', limit: 1000 }))
  }

  async function compare(): Promise<void> {
    const all = await report({ ...DAYS, by: Object.keys(VALUES).join() })
    expect(figuresOf(all.total)).toEqual(expectedOf(script, ...SPAN))
    expect(Math.abs(all.total.viewers - viewersOf(script))).toBeLessThanOrEqual(2)
    expect(figuresOf(all.before)).toEqual({ views: 0, watchSeconds: 0, mostAtOnce: 0 })
    for (const [by, valueOf] of Object.entries(VALUES)) {
      const rows = all.by[by as 'site'] ?? []
      const values = new Set(script.map(valueOf))
      expect(new Set(rows.map(({ value }) => value))).toEqual(values)
      for (const value of values) {
        const some = script.filter((one) => valueOf(one) === value)
        const expected = expectedOf(some, ...SPAN)
        expect(figuresOf(rows.find((row) => row.value === value) as AudienceFigures)).toEqual(expected)
        const filtered = await report({ ...DAYS, [by]: value })
        expect(figuresOf(filtered.total)).toEqual(expected)
        expect(Math.abs(filtered.total.viewers - viewersOf(some))).toBeLessThanOrEqual(2)
      }
      const sum = (name: 'views' | 'watchSeconds') => rows.reduce((total, row) => total + row[name], 0)
      expect([sum('views'), sum('watchSeconds')]).toEqual([all.total.views, all.total.watchSeconds])
    }
  }

  it('has a series by hour, and by the days of any zone', async () => {
    const hours = await report({ ...DAYS, resolution: 'Hour', country: 'AT' })
    const some = script.filter(({ country }) => country === 'AT')
    expect(hours.series).toHaveLength(48)
    for (const { time, ...figures } of hours.series ?? [])
      expect(figuresOf(figures)).toEqual(expectedOf(some, Date.parse(time), Date.parse(time) + HOUR_MS))
    for (const [timeZone, offsetHours] of [
      ['UTC', 0],
      ['America/New_York', 5],
      ['Asia/Tokyo', -9],
      // Its midnight is at 18:30 of UTC, so its days begin with the hour from 18:00.
      ['Asia/Kolkata', -6],
    ] as const) {
      const days = await report({ ...DAYS, timeZone, resolution: 'Day', streamName: 'news' })
      const news = script.filter(({ streamName }) => streamName === 'news')
      expect(days.series).toHaveLength(2)
      for (const [index, { time, ...figures }] of (days.series ?? []).entries()) {
        const fromMs = SPAN[0] + index * DAY_MS + offsetHours * HOUR_MS
        expect(Date.parse(time)).toBe(fromMs)
        expect(figuresOf(figures)).toEqual(expectedOf(news, fromMs, fromMs + DAY_MS))
      }
      expect(figuresOf(days.total)).toEqual(
        expectedOf(news, SPAN[0] + offsetHours * HOUR_MS, SPAN[1] + offsetHours * HOUR_MS),
      )
    }
  })

  it('is in the reports by country: views where they began, and their length by the hour or day', async () => {
    const get = async (name: ReportName, query: object = {}) => {
      const found = await analyse(at().ctx, at().accountId, name, { ...DAYS, ...query })
      if (!found.ok) throw new Error(JSON.stringify(found.error))
      return JSON.parse([...jsonOf(found.value)].join('')).geo
    }
    const fieldsOf = (some: readonly Scripted[], [fromMs, untilMs]: readonly [number, number]) => {
      const { views, watchSeconds: viewDuration } = expectedOf(some, fromMs, untilMs)
      return { views, viewDuration, publishes: 0, publishDuration: 0 }
    }
    const total = await get('account/geo_total')
    const older = await get('account/geo')
    for (const country of ['AT', 'IN', null]) {
      const some = script.filter((one) => one.country === country)
      const shown = country ?? UNKNOWN_VALUES.country
      expect(total[shown]).toMatchObject(fieldsOf(some, SPAN))
      expect(older[shown].views).toBe(total[shown].views)
      const news = some.filter(({ streamName }) => streamName === 'news')
      for (const [resolution, ms] of [
        ['Hour', HOUR_MS],
        ['Day', DAY_MS],
      ] as const) {
        const series = await get('streams/geo_series', { resolution, streamNames: ['news', 'none'] })
        for (const [time, countries] of Object.entries<Record<string, object>>(series.news)) {
          const expected = fieldsOf(news, [Date.parse(time), Date.parse(time) + ms])
          if (expected.viewDuration > 0) expect(countries[shown]).toMatchObject(expected)
          else expect(countries[shown]).toBeUndefined()
        }
        expect(new Set(Object.values<object>(series.none).map((one) => Object.keys(one).length))).toEqual(new Set([0]))
      }
    }
    const [fromMs, untilMs] = SPAN
    const of = { accountId: at().accountId, fromMs, untilMs, streamNames: ['news', ''], limit: 1000 }
    const rows = await at().ctx.store.read.audience.countries({ ...of, length: 'hour' })
    const keys = rows.map(({ streamName, atMs, country }) => `${streamName} ${atMs} ${country}`)
    expect(keys).toEqual(keys.toSorted())
  })

  it('has the range before beside it, as many days', async () => {
    const next = await report({ startDate: '2026-02-02', stopDate: '2026-02-04' })
    expect(figuresOf(next.before)).toEqual(expectedOf(script, ...SPAN))
    expect([next.before.from, next.before.until]).toEqual(['2026-01-31T00:00:00Z', '2026-02-02T00:00:00Z'])
  })

  it('reads whole months as one row each, also when their hours and days are no longer kept', async () => {
    const january = { startDate: '2026-01-01', stopDate: '2026-02-01', by: Object.keys(VALUES).join() }
    const span = [Date.UTC(2026, 0, 1), Date.UTC(2026, 1, 1)] as const
    const both = await report({ ...january, stopDate: '2026-02-02', resolution: 'Month' })
    expect(figuresOf(both.total)).toEqual(expectedOf(script, span[0], SPAN[1]))
    expect(both.series?.map(figuresOf)).toEqual([expectedOf(script, ...span), expectedOf(script, span[1], SPAN[1])])
    await prune(Date.UTC(2026, 1, 5), 4)
    const month = await report(january)
    expect(figuresOf(month.total)).toEqual(expectedOf(script, ...span))
    for (const [by, valueOf] of Object.entries(VALUES))
      for (const { value, ...figures } of month.by[by as 'site'] ?? []) {
        const some = script.filter((one) => valueOf(one) === value)
        expect(figuresOf(figures)).toEqual(expectedOf(some, ...span))
      }
  })

  async function prune(nowMs: number, usageDays: number): Promise<void> {
    const keep = { accessLogDays: 9, auditDays: 9, deliveryDays: 9, sessionDays: 400, usageDays, runDays: 9 }
    await pruneRecords({ ...at().ctx, clock: new ManualClock(nowMs) }, keep)
  }

  it('counts views that last, and forgets with the retention of usage', async () => {
    const beginMs = clock.now()
    const [session] = await crowd(at().ctx, at().accountId, 'late', 1)
    countBytes(at().ctx, session?.id ?? '', { bytesIn: 0, bytesOut: 1 })
    const query = { startDate: '2026-02-02', stopDate: '2026-02-03', streamName: 'late' }
    await at().node.count()
    moveTo(beginMs + 3000)
    expect((await report(query)).total.views).toBe(0)
    await at().node.count()
    moveTo(beginMs + 9000)
    expect((await report(query)).total).toMatchObject({ views: 1, viewers: 1, mostAtOnce: 1, watchSeconds: 10 })
    // Its media stopped, and it is gone a minute later.
    moveTo(beginMs + 70_000)
    await closeSession(at().ctx, session?.id ?? '', 'lost')
    expect((await report(query)).total).toMatchObject({ views: 0, watchSeconds: 0 })
    await prune(Date.UTC(2026, 1, 5), 1)
    for (const span of [DAYS, { startDate: '2026-01-01', stopDate: '2026-02-01' }])
      expect((await report(span)).total).toEqual({ views: 0, viewers: 0, watchSeconds: 0, mostAtOnce: 0 })
  })

  it('is measured again when the clock was ahead by hours, over midnight, and is put back', async () => {
    const beginMs = Date.UTC(2026, 1, 3)
    const query = { startDate: '2026-02-03', stopDate: '2026-02-06', streamName: 'ahead', resolution: 'Day' }
    const watch = async (atMs: number): Promise<string> => {
      moveTo(atMs)
      const id = (await crowd(at().ctx, at().accountId, 'ahead', 1))[0]?.id ?? ''
      countBytes(at().ctx, id, { bytesIn: 0, bytesOut: 1 })
      await at().node.count()
      return id
    }
    const writeAll = async (): Promise<void> => {
      // A run writes 48 hours at most.
      for (let run = 0; run < 4; run++) await writeAudience(at().ctx)
    }
    const stop = async (id: string, atMs: number): Promise<void> => {
      moveTo(atMs)
      countBytes(at().ctx, id, { bytesIn: 0, bytesOut: 1000 })
      await closeSession(at().ctx, id, 'left')
    }
    await stop(await watch(beginMs), beginMs + HOUR_MS)
    const today = beginMs + DAY_MS + 20 * HOUR_MS
    const watching = await watch(today)
    moveTo(today + MINUTE_MS)
    clock.setWall(8 * HOUR_MS)
    await writeAll()
    clock.setWall(-8 * HOUR_MS)
    await writeAll()
    await stop(watching, today + 2 * HOUR_MS)
    moveTo(beginMs + 3 * DAY_MS)
    await writeAll()
    const read = await report(query)
    expect(figuresOf(read.total)).toEqual({ views: 2, watchSeconds: 3 * 3600, mostAtOnce: 1 })
    expect(read.series?.map(({ watchSeconds }) => watchSeconds)).toEqual([3600, 7200, 0])
    const months = await at().ctx.store.transaction((tx) => tx.audience.at('month', Date.UTC(2026, 1, 1)))
    const month = months.filter(({ streamName }) => streamName === 'ahead')
    expect(month.map(({ views, watchMs }) => [views, watchMs])).toEqual([[2, 3 * HOUR_MS]])
  })

  it('is written two minutes after its hour, and again for a clock that was ahead by a day at most', async () => {
    const { store } = at().ctx
    const next = () => store.read.audience.nextHour()
    for (let run = 0; run < 4; run++) await writeAudience(at().ctx)
    const hourMs = await next()
    for (const [afterMs, written] of [
      [119_999, 0],
      [120_000, 1],
    ] as const) {
      moveTo(hourMs + HOUR_MS + afterMs)
      await writeAudience(at().ctx)
      expect(await next()).toBe(hourMs + written * HOUR_MS)
    }
    const aheadMs = clock.now() + DAY_MS + 1
    await store.transaction(async (tx) => tx.audience.advance(await next(), aheadMs))
    await writeAudience(at().ctx)
    expect(await next()).toBe(aheadMs)
  })
})
