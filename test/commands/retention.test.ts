import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { pruneRecords } from '../../src/commands/retention.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { AccessLogTxVerbs } from '../../src/store/tables/accessLog.ts'
import { newRun, newScheduler } from '../conformance/store.samples.ts'
import { runChannels, type ChannelsClient } from '../support/channelsClient.ts'
import { servedBy } from '../support/served.ts'

const DAY_MS = 86_400_000
const AT = Date.UTC(2026, 0, 1)
const KEEP = { accessLogDays: 1, auditDays: 1, deliveryDays: 1, sessionDays: 1, usageDays: 1, runDays: 1 }

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterAll(() => live.close())

it('runs, skipped occurrences and served bytes are stored for the configured time, and no longer', async () => {
  const { ctx } = live.running.app
  const { accountId } = live.running
  const [engineId, channelId, distributionId, schedulerId] = ['en_1', 'ch_1', 'di_1', 'sc_1']
  const times = { startedAtMs: AT - DAY_MS, heartbeatAtMs: AT }
  const run = (id: string, endedAtMs: number | null) =>
    newRun({ id, accountId, channelId, engineId, ...times, endedAtMs })
  await ctx.store.transaction(async (tx) => {
    await tx.runs.insert(run('rn_ended', AT))
    await tx.runs.insert(run('rn_open', null))
    await tx.schedulers.insert(newScheduler({ id: schedulerId, accountId, nextAtMs: null }))
    await tx.schedulers.skip([{ schedulerId, startMs: AT, endMs: AT, atMs: AT, reason: 'x' }])
    await tx.served.add([
      { accountId, channelId, distributionId, slotMs: AT, country: '', trackingId: '', bytesOut: 1, viewedMs: 1 },
    ])
  })
  const left = async () => {
    const runs = await ctx.store.read.runs.page({ engineId, limit: 10 })
    const skips = await ctx.store.read.schedulers.skips(schedulerId, 10)
    return [runs.map(({ id }) => id), skips.length, (await servedBy(ctx.store, distributionId)).length]
  }
  const keep = { ...KEEP, usageDays: 20, runDays: 30 }
  const after = (days: number) => pruneRecords({ ...ctx, clock: new ManualClock(AT + days * DAY_MS + 1) }, keep)
  await after(19.9)
  expect(await left()).toEqual([['rn_open', 'rn_ended'], 1, 1])
  await after(20)
  expect(await left()).toEqual([['rn_open', 'rn_ended'], 1, 0])
  await after(30)
  expect(await left()).toEqual([['rn_open'], 0, 0])
})

it('the claim of a publisher is deleted an hour after its end', async () => {
  const { ctx } = live.running.app
  const nowMs = await ctx.store.time()
  const claim = { ingestId: 'in_1', node: 'a node', connectedAtMs: nowMs }
  await ctx.store.transaction((tx) => tx.ingestClaims.claim(claim, { claimMs: 0, pauseMs: 0 }))
  const isLeft = async (afterMs: number) => {
    await pruneRecords({ ...ctx, clock: new ManualClock(nowMs + afterMs) }, KEEP)
    return (await ctx.store.read.ingestClaims.of(['in_1'])).size === 1
  }
  expect([await isLeft(3_500_000), await isLeft(3_700_000)]).toEqual([true, false])
})

it('of old records all are deleted in one round, however many there are', async () => {
  const { ctx } = live.running.app
  const { accountId } = live.running
  const of = { accountId, node: 'n', viewers: 1, bytesIn: 1, bytesOut: 1 }
  const minutes = Array.from({ length: 2001 }, (_, n) => ({ ...of, minuteMs: AT + n * 60_000 }))
  await ctx.store.transaction((tx) => tx.minutes.put(minutes))
  await pruneRecords({ ...ctx, clock: new ManualClock(AT + 30 * DAY_MS) }, KEEP)
  expect(await ctx.store.read.minutes.sum({ accountId, fromMs: 0, untilMs: AT + 30 * DAY_MS })).toEqual([])
})

it('records of one kind that cannot be deleted are named, and keep no others from being deleted', async () => {
  const { ctx } = live.running.app
  const failing = vi.spyOn(AccessLogTxVerbs.prototype, 'prune').mockRejectedValue(new Error('a page is damaged'))
  onTestFinished(() => failing.mockRestore())
  const nowMs = await ctx.store.time()
  const claim = { ingestId: 'in_2', node: 'a node', connectedAtMs: nowMs }
  await ctx.store.transaction((tx) => tx.ingestClaims.claim(claim, { claimMs: 0, pauseMs: 0 }))
  const pruned = pruneRecords({ ...ctx, clock: new ManualClock(nowMs + DAY_MS) }, KEEP)
  await expect(pruned).rejects.toThrow('could not delete old records: access log')
  expect((await ctx.store.read.ingestClaims.of(['in_2'])).size).toBe(0)
})

it('nothing more is deleted once the store is away', async () => {
  const { ctx } = live.running.app
  let tries = 0
  const away = () => Promise.reject(new StoreUnavailable('it is away'))
  const transaction = () => {
    tries += 1
    return away()
  }
  const store = { ...ctx.store, ping: away, transaction }
  await expect(pruneRecords({ ...ctx, store }, KEEP)).rejects.toThrow('it is away')
  expect(tries).toBe(1)
})
