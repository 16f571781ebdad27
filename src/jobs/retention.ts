import { HOUR_MS } from '../base/time.ts'
import { expireRecordings } from '../commands/recordings/expire.ts'
import { pruneRecords, type Retention } from '../commands/retention.ts'
import type { Context } from '../commands/context.ts'
import type { PeriodicJob } from './timers.ts'

const EXPIRY_MS = 60_000

export interface RetentionOptions {
  /** Read at each run. */
  keep: Retention
  bindingFlushMs: number
}

/** The periodic jobs of every process, also of a command. They call commands and contain no rules. */
export function serviceJobs(ctx: Context, options: RetentionOptions): PeriodicJob[] {
  return [
    { name: 'flush the access log', everyMs: 1000, run: () => ctx.recorder.reconcile() },
    {
      name: 'write last uses of tokens and bound addresses',
      everyMs: options.bindingFlushMs,
      run: () => ctx.lastUses.flush(ctx.store),
    },
    { name: 'delete recordings whose days are over', everyMs: EXPIRY_MS, run: () => expireRecordings(ctx) },
    { name: 'retention', everyMs: HOUR_MS, run: () => pruneRecords(ctx, options.keep) },
  ]
}
