import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { pruneRecords } from '../../src/commands/retention.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { overriding } from '../../src/store/nouns.ts'
import { crowd } from '../support/crowd.ts'
import { makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

const MINUTE_MS = 60_000

let clock: ManualClock
let at: TestNode
beforeAll(async () => {
  clock = new ManualClock(Date.UTC(2026, 0, 31, 12, 0))
  at = await startTestNode({ clock })
})
afterAll(() => at.close())

const read = async (query = '', node = at) => (await node.call('GET', `/api/analytics/live_series${query}`)).json
/** The last values of a series, oldest first. */
const tail = async (metric: string, count: number, node = at): Promise<number[]> =>
  (await read(`?metric=${metric}`, node)).data.series[metric].slice(-count)

it('answers viewers and bytes by minute, sums nodes, and survives a restart', async () => {
  const { token } = await makeToken(at, 'publish')
  const { session } = await publish(at, { presented: token })
  const viewers = [await view(at), await view(at), await view(at)]
  countBytes(at.ctx, session.id, { bytesIn: 5000, bytesOut: 0 })
  at.ctx.accountMinutes.sample()
  for (const viewer of viewers.slice(1)) await closeSession(at.ctx, viewer.session.id, 'left')
  clock.advance(MINUTE_MS)
  countBytes(at.ctx, viewers[0]?.session.id ?? '', { bytesIn: 0, bytesOut: 700 })
  expect([await tail('viewers', 3), await tail('bytesIn', 3), await tail('bytesOut', 3)]).toEqual([
    [0, 3, 1],
    [0, 5000, 0],
    [0, 0, 700],
  ])
  // The same again adds nothing.
  expect(await tail('bytesOut', 3)).toEqual([0, 0, 700])
  const other = await startTestNode({ url: at.url, clock })
  await crowd(other.ctx, at.accountId, 'show', 4)
  expect(await tail('viewers', 3, other)).toEqual([0, 3, 5])
  expect(await tail('viewers', 3)).toEqual([0, 3, 5])
  await other.crash()
  await closeSession(at.ctx, viewers[0]?.session.id ?? '', 'left')
  await closeSession(at.ctx, session.id, 'left')
})

it('answers 60 minutes or 1440, only the metrics that were asked for, and refuses others', async () => {
  const hour = (await read()).data
  expect(hour).toMatchObject({ range: 'hour', slotSeconds: 60 })
  expect(Object.values(hour.series as Record<string, number[]>).map((column) => column.length)).toEqual([60, 60, 60])
  expect(Date.parse(hour.from)).toBe(clock.now() - (clock.now() % MINUTE_MS) - 59 * MINUTE_MS)
  const day = (await read('?range=day&metric=bytesIn,viewers')).data
  expect(Object.keys(day.series)).toEqual(['viewers', 'bytesIn'])
  expect(day.series.viewers).toHaveLength(1440)
  expect((await read('?metric=viewers&metric=bytesIn')).data.series).not.toHaveProperty('bytesOut')
  const wrong = await read('?range=year&metric=viewers,heat')
  expect(Object.keys(wrong.data.errors)).toEqual(['metric', 'range'])
})

it('writes one row for any number of sessions, none while nothing happens, and again what could not be written', async () => {
  const put = vi.fn()
  const { store } = at.ctx
  const writes = async (transaction = store.transaction.bind(store)) => {
    put.mockClear()
    const spying: typeof store.transaction = (work) =>
      transaction((tx) =>
        work(
          overriding(tx, {
            minutes: overriding(tx.minutes, { put: async (rows) => (put(rows), tx.minutes.put(rows)) }),
          }),
        ),
      )
    at.ctx.accountMinutes.sample()
    await at.ctx.accountMinutes.write({ ...store, transaction: spying })
    return put.mock.calls.flatMap(([rows]) => rows as object[])
  }
  clock.advance(MINUTE_MS)
  expect(await writes()).toEqual([])
  const sessions = await crowd(at.ctx, at.accountId, 'show', 1000)
  for (const { id } of sessions) countBytes(at.ctx, id, { bytesIn: 0, bytesOut: 10 })
  const gone = () => Promise.reject(new StoreUnavailable('gone'))
  await expect(writes(gone)).rejects.toThrow('gone')
  expect(await writes()).toEqual([expect.objectContaining({ viewers: 1000, bytesOut: 10_000 })])
  expect(await writes()).toEqual([])
  for (const { id } of sessions) at.ctx.sessions.remove(id)
})

it('keeps the minutes of two days', async () => {
  const span = { accountId: at.accountId, fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER }
  const keep = { accessLogDays: 9, auditDays: 9, deliveryDays: 9, sessionDays: 9, usageDays: 9, runDays: 9 }
  const before = await at.ctx.store.read.minutes.sum(span)
  expect(before.length).toBeGreaterThan(1)
  clock.advance(2 * 86_400_000 - MINUTE_MS)
  await pruneRecords(at.ctx, keep)
  expect(await at.ctx.store.read.minutes.sum(span)).toEqual(before.slice(-2))
  clock.advance(2 * MINUTE_MS)
  await pruneRecords(at.ctx, keep)
  expect(await at.ctx.store.read.minutes.sum(span)).toEqual([])
})
