import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, writeBytes } from '../../src/commands/sessions/count.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { StoreUnavailable, type Store } from '../../src/store/store.ts'
import {
  admit,
  type Connection,
  type TestNode,
  makeToken,
  publish,
  silentMedia,
  startTestNode,
  view,
} from '../support/testNode.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { passingStore } from '../support/passingStore.ts'

const HOUR_MS = 3_600_000
const DAY = '2026-03-01'
const NEXT_DAY = '2026-03-02'

/** The test sets the wall clock; durations are real. */
class Wall implements Clock {
  nowMs = Date.parse(`${DAY}T00:00:00Z`)
  now = (): number => this.nowMs
  monotonic = (): number => systemClock.monotonic()
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => systemClock.sleep(ms, signal)
}

describe.each(testedStores())('bytes on %s', (engine) => {
  const clock = new Wall()
  let place: Place
  let at: TestNode
  const admitted: string[] = []
  const start = () => startTestNode({ url: place.url, clock, hostKey: 'here' })
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await start()
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  const report = async (path: string, query = '') => {
    const until = new Date(clock.nowMs + 2 * 24 * HOUR_MS).toISOString().slice(0, 10)
    const answer = await at.call('GET', `/api/analytics/${path}?startDate=${DAY}&stopDate=${until}${query}`)
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.json))
    return answer.json.data
  }

  const operation = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('count' as const),
        index: fc.nat(9),
        bytes: fc.integer({ min: 1, max: 1_000_000 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('round' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lostAnswer' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const), stream: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), index: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('later' as const), ms: fc.nat(2 * HOUR_MS) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  )

  it('are the same in sessions and hourly sums under retries and losses; a crash loses what was not written, and no more', async () => {
    const before = { hours: 0, sessions: 0 }
    const token = await makeToken(at, 'publish')
    const enter = async (stream: number): Promise<{ connection: Connection; bytes: number }> => {
      const connection = await admit(at, { presented: token.token, streamName: `s${stream}` })
      admitted.push(connection.session.id)
      return { connection, bytes: 0 }
    }
    const runs = engine === 'SQLite' ? 40 : 12
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
        // Of this run: bytes that the store must have, those that it may have, and those counted since the last write.
        const sums = { least: 0, most: 0, fresh: 0 }
        const first = await enter(0)
        let open = [first, await enter(1)]
        const count = (one: typeof first, bytes: number) => {
          one.bytes += bytes
          sums.most += bytes
          sums.fresh += bytes
          countBytes(at.ctx, one.connection.session.id, { bytesIn: one.bytes, bytesOut: one.bytes * 2 })
        }
        const write = async () => {
          await writeBytes(at.ctx)
          sums.least += sums.fresh
          sums.fresh = 0
        }
        // Few operations, or a crash before any write, would prove nothing.
        count(first, 1)
        await write()
        for (const step of operations) {
          const one = 'index' in step ? open[step.index % Math.max(1, open.length)] : undefined
          if (step.kind === 'open') open.push(await enter(step.stream))
          if (step.kind === 'count' && one) count(one, step.bytes)
          if (step.kind === 'close' && one) {
            await closeSession(at.ctx, one.connection.session.id, 'left')
            open = open.filter((other) => other !== one)
          }
          if (step.kind === 'write') await write()
          if (step.kind === 'round') await at.node.count(1)
          if (step.kind === 'lostAnswer') await withoutAnswer(at)
          if (step.kind === 'later') clock.nowMs += step.ms
          if (step.kind === 'crash') {
            await at.crash()
            at = await start()
            open = []
            sums.fresh = 0
          }
        }
        await write()
        const sessions = await sumOfSessions(at, admitted)
        const total = await report('account/total')
        const risen = [total.bytesIn - before.hours, sessions.bytesIn - before.sessions]
        expect(Math.min(...risen)).toBeGreaterThanOrEqual(sums.least)
        expect(Math.max(...risen)).toBeLessThanOrEqual(sums.most)
        expect([total.bytesOut, sessions.bytesOut]).toEqual([2 * total.bytesIn, 2 * sessions.bytesIn])
        const hours: { bytesIn: number; bytesOut: number }[] = Object.values(
          (await report('account/series', '&resolution=Day')).bandwidth,
        )
        expect(sumOf(hours)).toEqual({ bytesIn: total.bytesIn, bytesOut: total.bytesOut })
        Object.assign(before, { hours: total.bytesIn, sessions: sessions.bytesIn })
        // Bytes that this node counted for open sessions match exactly.
        for (const { connection, bytes } of open) {
          const stored = await at.ctx.store.read.sessions.get(connection.session.id)
          expect(stored).toMatchObject({ bytesIn: bytes, bytesOut: bytes * 2 })
        }
      }),
      { numRuns: runs },
    )
    expect((await sumOfSessions(at, admitted)).bytesIn).toBeGreaterThanOrEqual(runs)
  })

  it('fall into the hour in which they are counted, and are reported by stream, tracking id and country', async () => {
    clock.nowMs = Date.parse(`${NEXT_DAY}T00:00:00Z`) + 400 * 24 * HOUR_MS
    const startMs = clock.nowMs
    const date = (days: number) => new Date(startMs + days * 24 * HOUR_MS).toISOString().slice(0, 10)
    const { token } = await makeToken(at, 'publish')
    const { session } = await publish(at, { presented: token, streamName: 'hours', country: 'NZ' })
    countBytes(at.ctx, session.id, { bytesIn: 100, bytesOut: 0 })
    clock.nowMs += HOUR_MS - 1
    await writeBytes(at.ctx)
    clock.nowMs += 1
    countBytes(at.ctx, session.id, { bytesIn: 150, bytesOut: 0 })
    // Totals never fall, even when an update arrives late.
    countBytes(at.ctx, session.id, { bytesIn: 120, bytesOut: 0 })
    const dates = `startDate=${date(0)}&stopDate=${date(1)}`
    const get = async (path: string) => (await at.call('GET', `/api/analytics/${path}`)).json.data
    const series = await get(`streams/series?${dates}&streamNames=hours&streamNames=none&resolution=Hour`)
    const slots = Object.entries(series.hours.bandwidth as Record<string, { bytesIn: number }>)
    expect(slots).toHaveLength(24)
    expect(slots[0]).toEqual([`${date(0)}T00:00:00Z`, { bytesIn: 100, bytesOut: 0 }])
    expect(slots[1]?.[1]).toEqual({ bytesIn: 50, bytesOut: 0 })
    expect(slots[2]?.[1]).toEqual({ bytesIn: 0, bytesOut: 0 })
    expect(Object.keys(series)).toEqual(['hours', 'none'])
    const none = { publishes: 0, publishDuration: 0, views: 0, viewDuration: 0 }
    const hour = { ...none, publishes: 1, publishDuration: 3600 }
    expect(await get(`account/geo_total?${dates}`)).toEqual({ geo: { NZ: { bytesIn: 150, bytesOut: 0, ...hour } } })
    expect(await get(`streams/geo_total?${dates}&streamNames=hours&streamNames=none`)).toEqual({
      geo: { hours: { NZ: { bytesIn: 150, bytesOut: 0, ...hour } }, none: {} },
    })
    const [first, second] = [`${date(0)}T00:00:00Z`, `${date(0)}T01:00:00Z`]
    const ofAccount = (await get(`account/geo_series?${dates}&resolution=Hour`)).geo
    expect(Object.keys(ofAccount)).toHaveLength(24)
    expect(ofAccount[first]).toEqual({ NZ: { bytesIn: 100, bytesOut: 0, ...hour } })
    expect(ofAccount[`${date(0)}T02:00:00Z`]).toEqual({})
    const ofStreams = (await get(`streams/geo_series?${dates}&resolution=Hour&streamNames=hours&streamNames=none`)).geo
    expect(ofStreams.hours[second]).toEqual({ NZ: { bytesIn: 50, bytesOut: 0, ...none } })
    expect(ofStreams.none[second]).toEqual({})
    expect(await get(`streams/total?${dates}&streamNames=hours`)).toMatchObject({
      hours: { bytesIn: 150, bytesOut: 0, standardStream: { bytesIn: 150 }, restream: { secondsUsed: 0 } },
    })
    await closeSession(at.ctx, session.id, 'left')
  })

  it('are reported under the tracking id of the token, and for a stream under each of them', async () => {
    clock.nowMs += 24 * HOUR_MS
    const date = (days: number) => new Date(clock.nowMs + days * 24 * HOUR_MS).toISOString().slice(0, 10)
    const dates = `startDate=${date(0)}&stopDate=${date(1)}`
    const broadcast = await makeToken(at, 'publish')
    const tracked = await makeToken(at, 'subscribe', { tracking: { trackingId: '__proto__' } })
    const { session } = await admit(at, { presented: broadcast.token })
    await goLive(at.ctx, session.id, silentMedia)
    const one = await view(at, { presented: tracked.token })
    const two = await view(at)
    countBytes(at.ctx, one.session.id, { bytesIn: 1, bytesOut: 1000 })
    countBytes(at.ctx, two.session.id, { bytesIn: 2, bytesOut: 500 })
    const get = async (path: string) => (await at.call('GET', `/api/analytics/${path}`)).json.data
    const totals = await get(`tracking/total?${dates}&trackingIds=__proto__,nobody`)
    expect(Object.entries(totals)).toEqual([
      ['__proto__', [{ streamName: 'show', bytesOut: 1000, bytesIn: 1 }]],
      ['nobody', []],
    ])
    const series = await get(`tracking/series?${dates}&trackingIds=__proto__&resolution=Day`)
    expect(Object.values(Object.entries(series)[0]?.[1] ?? {})).toEqual([
      [{ streamName: 'show', bytesOut: 1000, bytesIn: 1 }],
    ])
    const streams = await get(`tracking/streams/total?${dates}&streamNames=show`)
    expect(streams.show).toEqual([
      { bytesOut: 500, bytesIn: 2 },
      { trackingId: '__proto__', bytesOut: 1000, bytesIn: 1 },
    ])
    const overTime = await get(`tracking/streams/series?${dates}&streamNames=show&streamNames=none&resolution=Day`)
    const day = `${date(0)}T00:00:00Z`
    expect(overTime).toEqual({ show: { [day]: streams.show }, none: { [day]: [] } })
  })

  it('are refused with the invalid fields', async () => {
    const errors = async (path: string) => (await at.call('GET', `/api/analytics/${path}`)).json.data.errors
    expect(await errors('account/total')).toEqual({
      startDate: [expect.stringContaining('is required')],
      stopDate: [expect.stringContaining('is required')],
    })
    expect(await errors('account/total?startDate=2026-02-30&stopDate=x&depth=1')).toEqual({
      startDate: [expect.stringContaining('must be a date')],
      stopDate: [expect.stringContaining('must be a date')],
    })
    const span = (from: string, to: string, more = '') =>
      errors(`account/series?startDate=${from}&stopDate=${to}${more}`)
    expect(await span('2026-01-01', '2026-01-01', '&resolution=Day')).toHaveProperty('stopDate')
    expect(await span('2026-01-01', '2027-02-06', '&resolution=Day')).toHaveProperty('stopDate')
    expect(await span('2026-01-01', '2026-02-02', '&resolution=Month')).toHaveProperty('stopDate')
    expect(await span('2026-01-01', '2026-01-02', '&resolution=Year')).toHaveProperty('resolution')
    const many = Array.from({ length: 11 }, (_, n) => `t${n}`).join(',')
    const tracking = (ids: string) => errors(`tracking/total?startDate=2026-01-01&stopDate=2026-01-02${ids}`)
    expect(await tracking('')).toHaveProperty('trackingIds')
    expect(await tracking(`&trackingIds=${many}`)).toHaveProperty('trackingIds')
    expect(await tracking(`&trackingIds=a,,b`)).toHaveProperty('trackingIds')
    expect(await tracking(`&trackingIds=${'x'.repeat(129)}`)).toHaveProperty('trackingIds')
  })
})

/** Writes the counts, but never learns that the write succeeded. */
async function withoutAnswer({ ctx }: TestNode): Promise<void> {
  const silent: Store = {
    ...passingStore(ctx.store),
    async transaction(work) {
      await ctx.store.transaction(work)
      throw new StoreUnavailable('the connection was lost after the commit')
    },
  }
  await expect(
    writeBytes({ ...ctx, store: silent }).then(
      () => 'nothing to write',
      () => 'lost',
    ),
  ).resolves.toBeTypeOf('string')
}

async function sumOfSessions({ ctx }: TestNode, ids: readonly string[]) {
  await writeBytes(ctx)
  const rows = await Promise.all(ids.map((id) => ctx.store.read.sessions.get(id)))
  return sumOf(rows.filter((row) => row !== undefined))
}

const sumOf = (rows: readonly { bytesIn: number; bytesOut: number }[]) => ({
  bytesIn: rows.reduce((sum, row) => sum + row.bytesIn, 0),
  bytesOut: rows.reduce((sum, row) => sum + row.bytesOut, 0),
})
