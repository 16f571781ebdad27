import type { Tx } from '../store/store.ts'
import type { Context } from './context.ts'

const DAY_MS = 86_400_000
const BATCH = 1000
const BATCHES_MAX = 1000
/** Readers that are further behind than this are told to forget everything. */
const CHANGES_KEPT_MS = 3_600_000

/** Told attempts to view are remembered for ten seconds; their rows may go any time after. */
const ATTEMPTS_KEPT_MS = 3_600_000

/** How long each record is kept. */
export interface Retention {
  accessLogDays: number
  auditDays: number
  deliveryDays: number
  sessionDays: number
  usageDays: number
}

/** Deletes what is older than it is kept for. Answers how many rows of records it deleted. */
export async function pruneRecords(ctx: Context, keep: Retention): Promise<number> {
  const nowMs = ctx.clock.now()
  await ctx.store.transaction((tx) => tx.changes.prune(nowMs - CHANGES_KEPT_MS))
  const decisions = await inBatches(ctx, (tx) => tx.accessLog.prune(nowMs - keep.accessLogDays * DAY_MS, BATCH))
  const changes = await inBatches(ctx, (tx) => tx.audit.prune(nowMs - keep.auditDays * DAY_MS, BATCH))
  const sent = await inBatches(ctx, (tx) => tx.deliveries.prune(nowMs - keep.deliveryDays * DAY_MS, BATCH))
  const ended = await inBatches(ctx, (tx) => tx.sessions.prune(nowMs - keep.sessionDays * DAY_MS, BATCH))
  const hours = await inBatches(ctx, (tx) => tx.usage.prune(nowMs - keep.usageDays * DAY_MS, BATCH))
  await ctx.store.transaction((tx) => tx.viewing.prune(nowMs - ATTEMPTS_KEPT_MS))
  return decisions + changes + sent + ended + hours
}

/** In small transactions, so that nobody waits for them; what is left after the last batch is done next time. */
async function inBatches(ctx: Context, prune: (tx: Tx) => Promise<number>): Promise<number> {
  let deleted = 0
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const count = await ctx.store.transaction(prune)
    deleted += count
    if (count < BATCH) break
  }
  return deleted
}
