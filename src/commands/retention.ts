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

/** Sessions of users and one-time links open nothing long before; until then Sluice can say why. */
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

type Prune = (tx: Tx, beforeMs: number) => Promise<number>

/**
 * Deletes records past their retention, also if those of one kind cannot be deleted.
 * @throws Error that names the kinds that could not be deleted
 */
export async function pruneRecords(ctx: CommandContext, keep: Retention): Promise<void> {
  const nowMs = ctx.clock.now()
  const kinds: readonly [kind: string, keptMs: number, prune: Prune][] = [
    ['changes', CHANGES_KEPT_MS, (tx, beforeMs) => tx.changes.prune(beforeMs)],
    ['access log', keep.accessLogDays * DAY_MS, (tx, beforeMs) => tx.accessLog.prune(beforeMs, BATCH)],
    ['audit log', keep.auditDays * DAY_MS, (tx, beforeMs) => tx.audit.prune(beforeMs, BATCH)],
    ['deliveries', keep.deliveryDays * DAY_MS, (tx, beforeMs) => tx.deliveries.prune(beforeMs, BATCH)],
    ['events of channels', keep.deliveryDays * DAY_MS, (tx, beforeMs) => tx.channelEvents.prune(beforeMs, BATCH)],
    ['sessions', keep.sessionDays * DAY_MS, (tx, beforeMs) => tx.sessions.prune(beforeMs, BATCH)],
    ['events of restreams', keep.sessionDays * DAY_MS, (tx, beforeMs) => tx.restreamEvents.prune(beforeMs, BATCH)],
    ['usage', keep.usageDays * DAY_MS, (tx, beforeMs) => tx.usage.prune(beforeMs, BATCH)],
    ['usage of restreams', keep.usageDays * DAY_MS, (tx, beforeMs) => tx.restreamHours.prune(beforeMs, BATCH)],
    ['audience', keep.usageDays * DAY_MS, (tx, beforeMs) => tx.audience.prune(beforeMs, BATCH)],
    ['served bytes', keep.usageDays * DAY_MS, (tx, beforeMs) => tx.served.prune(beforeMs, BATCH)],
    ['runs', keep.runDays * DAY_MS, (tx, beforeMs) => tx.runs.prune(beforeMs, BATCH)],
    ['skipped occurrences', keep.runDays * DAY_MS, (tx, beforeMs) => tx.schedulers.pruneSkips(beforeMs, BATCH)],
    ['minutes', MINUTES_KEPT_MS, (tx, beforeMs) => tx.minutes.prune(beforeMs, BATCH)],
    ['health of streams', HISTORY_MS, (tx, beforeMs) => tx.feedHealth.prune(beforeMs, BATCH)],
    ['logs of caches', CACHE_LOGS_KEPT_MS, (tx, beforeMs) => tx.cacheLogs.prune(beforeMs, BATCH)],
    ['attempts to view', ATTEMPTS_KEPT_MS, (tx, beforeMs) => tx.viewing.prune(beforeMs)],
    ['reloads', CHANGES_KEPT_MS, (tx, beforeMs) => tx.reloads.prune(beforeMs)],
    ['claims of ingests', CHANGES_KEPT_MS, (tx, beforeMs) => tx.ingestClaims.prune(beforeMs)],
    ['sessions of users', SIGN_INS_KEPT_MS, (tx, beforeMs) => tx.dashboardSessions.prune(beforeMs, BATCH)],
    ['setup codes', SIGN_INS_KEPT_MS, (tx, beforeMs) => tx.setupCodes.prune(beforeMs, BATCH)],
    ['challenges of passkeys', 0, (tx, beforeMs) => tx.passkeys.pruneChallenges(beforeMs, BATCH)],
  ]
  const failed: { readonly kind: string; readonly cause: unknown }[] = []
  for (const [kind, keptMs, prune] of kinds) {
    try {
      await inBatches(ctx, (tx) => prune(tx, nowMs - keptMs))
    } catch (cause) {
      failed.push({ kind, cause })
      // Without a store the others would only wait and fail as well.
      await ctx.store.ping()
    }
  }
  if (failed.length === 0) return
  const names = failed.map(({ kind }) => kind).join(', ')
  throw new Error(`could not delete old records: ${names}`, { cause: failed[0]?.cause })
}

/** In small transactions, so that other writes do not wait for long. The next run continues after the last batch. */
async function inBatches(ctx: CommandContext, prune: (tx: Tx) => Promise<number>): Promise<void> {
  for (let batch = 0; batch < BATCHES_MAX; batch++) if ((await ctx.store.transaction(prune)) < BATCH) return
}
