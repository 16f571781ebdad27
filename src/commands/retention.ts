import type { Tx } from '../store/store.ts'
import type { Context } from './context.ts'

const DAY_MS = 86_400_000
const BATCH = 1000
const BATCHES_MAX = 1000
/** Readers that are further behind than this are told to forget everything. */
const CHANGES_KEPT_MS = 3_600_000

/** Told attempts to view are remembered for ten seconds; their rows may go any time after. */
const ATTEMPTS_KEPT_MS = 3_600_000

const SIGN_INS_KEPT_MS = 7 * DAY_MS

/** How long each record is kept. */
export interface Retention {
  accessLogDays: number
  auditDays: number
  deliveryDays: number
  sessionDays: number
  usageDays: number
  /** Of runs, and of the occurrences that schedulers skipped. */
  runDays: number
}

/** Deletes what is older than it is kept for. Answers how many rows of records it deleted. */
export async function pruneRecords(ctx: Context, keep: Retention): Promise<number> {
  const nowMs = ctx.clock.now()
  await ctx.store.transaction((tx) => tx.changes.prune(nowMs - CHANGES_KEPT_MS))
  const records: [days: number, prune: (tx: Tx, beforeMs: number) => Promise<number>][] = [
    [keep.accessLogDays, (tx, beforeMs) => tx.accessLog.prune(beforeMs, BATCH)],
    [keep.auditDays, (tx, beforeMs) => tx.audit.prune(beforeMs, BATCH)],
    [keep.deliveryDays, (tx, beforeMs) => tx.deliveries.prune(beforeMs, BATCH)],
    [keep.deliveryDays, (tx, beforeMs) => tx.channelEvents.prune(beforeMs, BATCH)],
    [keep.sessionDays, (tx, beforeMs) => tx.sessions.prune(beforeMs, BATCH)],
    [keep.usageDays, (tx, beforeMs) => tx.usage.prune(beforeMs, BATCH)],
    [keep.usageDays, (tx, beforeMs) => tx.served.prune(beforeMs, BATCH)],
    [keep.runDays, (tx, beforeMs) => tx.runs.prune(beforeMs, BATCH)],
    [keep.runDays, (tx, beforeMs) => tx.schedulers.pruneSkips(beforeMs, BATCH)],
  ]
  let deleted = 0
  for (const [days, prune] of records) deleted += await inBatches(ctx, (tx) => prune(tx, nowMs - days * DAY_MS))
  await ctx.store.transaction((tx) => tx.viewing.prune(nowMs - ATTEMPTS_KEPT_MS))
  return deleted + (await pruneSignIns(ctx, nowMs))
}

/** Sessions of users and one-time links open nothing long before; until then Sluice can say why. */
async function pruneSignIns(ctx: Context, nowMs: number): Promise<number> {
  const sessions = await inBatches(ctx, (tx) => tx.dashboardSessions.prune(nowMs - SIGN_INS_KEPT_MS, BATCH))
  const codes = await inBatches(ctx, (tx) => tx.setupCodes.prune(nowMs - SIGN_INS_KEPT_MS, BATCH))
  return sessions + codes + (await inBatches(ctx, (tx) => tx.passkeys.pruneChallenges(nowMs, BATCH)))
}

/** In small transactions, so that others do not wait for long; what is left after the last batch is done next time. */
async function inBatches(ctx: Context, prune: (tx: Tx) => Promise<number>): Promise<number> {
  let deleted = 0
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const count = await ctx.store.transaction(prune)
    deleted += count
    if (count < BATCH) break
  }
  return deleted
}
