import type { Context } from '../commands/context.ts'
import { runSchedulers } from '../commands/channels/schedules/occurrences.ts'
import type { PeriodicJob } from './timers.ts'

/** Begins and ends what schedulers want, to the second. */
export const schedulerJob = (ctx: Context): PeriodicJob => ({
  name: 'run schedulers',
  everyMs: 1000,
  run: () => runSchedulers(ctx),
})
