import { afterAll, beforeAll, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { pruneRecords } from '../../src/commands/retention.ts'
import { newRun, newScheduler } from '../conformance/store.samples.ts'
import { runChannels, type ChannelsClient } from '../support/channelsClient.ts'
import { servedBy } from '../support/served.ts'

const DAY_MS = 86_400_000
const AT = Date.UTC(2026, 0, 1)

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
  const keep = { accessLogDays: 1, auditDays: 1, deliveryDays: 1, sessionDays: 1, usageDays: 20, runDays: 30 }
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
  const keep = { accessLogDays: 1, auditDays: 1, deliveryDays: 1, sessionDays: 1, usageDays: 1, runDays: 1 }
  const nowMs = await ctx.store.time()
  const claim = { ingestId: 'in_1', node: 'a node', connectedAtMs: nowMs }
  await ctx.store.transaction((tx) => tx.ingestClaims.claim(claim, { claimMs: 0, pauseMs: 0 }))
  const isLeft = async (afterMs: number) => {
    await pruneRecords({ ...ctx, clock: new ManualClock(nowMs + afterMs) }, keep)
    return (await ctx.store.read.ingestClaims.of(['in_1'])).size === 1
  }
  expect([await isLeft(3_500_000), await isLeft(3_700_000)]).toEqual([true, false])
})
