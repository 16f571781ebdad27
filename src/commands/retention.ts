import { DAY_MS, HOUR_MS } from '../base/time.ts'
import { HISTORY_MS } from '../core/streams/history.ts'
import type { Tx } from '../store/store.ts'
import type { CommandContext } from './context.ts'

const BATCH = 1000
const BATCHES_MAX = 1000
/** Readers that are further behind than this clear their caches. */
const CHANGES_KEPT_MS = HOUR_MS
/** The longest range of a series is a day. */
const MINUTES_KEPT_MS = 2 * DAY_MS

/** An attempt to view has no second event for ten seconds. Its row may be deleted at any time after. */
const ATTEMPTS_KEPT_MS = HOUR_MS

/** A cache that still writes a log reports it every few seconds; one that was away may go on for this long. */
const CACHE_LOGS_KEPT_MS = 30 * DAY_MS

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

/** Deletes records past their retention. Returns the number of deleted rows. */
export async function pruneRecords(ctx: CommandContext, keep: Retention): Promise<number> {
  const nowMs = ctx.clock.now()
  await ctx.store.transaction((tx) => tx.changes.prune(nowMs - CHANGES_KEPT_MS))
  const records: [days: number, prune: (tx: Tx, beforeMs: number) => Promise<number>][] = [
    [keep.accessLogDays, (tx, beforeMs) => tx.accessLog.prune(beforeMs, BATCH)],
    [keep.auditDays, (tx, beforeMs) => tx.audit.prune(beforeMs, BATCH)],
    [keep.deliveryDays, (tx, beforeMs) => tx.deliveries.prune(beforeMs, BATCH)],
    [keep.deliveryDays, (tx, beforeMs) => tx.channelEvents.prune(beforeMs, BATCH)],
    [keep.sessionDays, (tx, beforeMs) => tx.sessions.prune(beforeMs, BATCH)],
    [keep.sessionDays, (tx, beforeMs) => tx.restreamEvents.prune(beforeMs, BATCH)],
    [keep.usageDays, (tx, beforeMs) => tx.usage.prune(beforeMs, BATCH)],
    [keep.usageDays, (tx, beforeMs) => tx.restreamHours.prune(beforeMs, BATCH)],
    [keep.usageDays, (tx, beforeMs) => tx.audience.prune(beforeMs, BATCH)],
    [keep.usageDays, (tx, beforeMs) => tx.served.prune(beforeMs, BATCH)],
    [keep.runDays, (tx, beforeMs) => tx.runs.prune(beforeMs, BATCH)],
    [keep.runDays, (tx, beforeMs) => tx.schedulers.pruneSkips(beforeMs, BATCH)],
  ]
  let deleted = 0
  for (const [days, prune] of records) deleted += await inBatches(ctx, (tx) => prune(tx, nowMs - days * DAY_MS))
  deleted += await inBatches(ctx, (tx) => tx.minutes.prune(nowMs - MINUTES_KEPT_MS, BATCH))
  deleted += await inBatches(ctx, (tx) => tx.feedHealth.prune(nowMs - HISTORY_MS, BATCH))
  deleted += await inBatches(ctx, (tx) => tx.cacheLogs.prune(nowMs - CACHE_LOGS_KEPT_MS, BATCH))
  await ctx.store.transaction((tx) => tx.viewing.prune(nowMs - ATTEMPTS_KEPT_MS))
  await ctx.store.transaction((tx) => tx.reloads.prune(nowMs - CHANGES_KEPT_MS))
  await ctx.store.transaction((tx) => tx.ingestClaims.prune(nowMs - CHANGES_KEPT_MS))
  return deleted + (await pruneSignIns(ctx, nowMs))
}

/** Sessions of users and one-time links open nothing long before; until then Sluice can say why. */
async function pruneSignIns(ctx: CommandContext, nowMs: number): Promise<number> {
  const sessions = await inBatches(ctx, (tx) => tx.dashboardSessions.prune(nowMs - SIGN_INS_KEPT_MS, BATCH))
  const codes = await inBatches(ctx, (tx) => tx.setupCodes.prune(nowMs - SIGN_INS_KEPT_MS, BATCH))
  return sessions + codes + (await inBatches(ctx, (tx) => tx.passkeys.pruneChallenges(nowMs, BATCH)))
}

/** In small transactions, so that other writes do not wait for long. The next run continues after the last batch. */
async function inBatches(ctx: CommandContext, prune: (tx: Tx) => Promise<number>): Promise<number> {
  let deleted = 0
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const count = await ctx.store.transaction(prune)
    deleted += count
    if (count < BATCH) break
  }
  return deleted
}
