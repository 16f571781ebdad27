import type { Context } from '../commands/context.ts'
import { runSchedulers } from '../commands/channels/schedules/occurrences.ts'
import type { PeriodicJob } from './timers.ts'

/** Starts and stops what schedulers are due to, once a second. */
export const schedulerJob = (ctx: Context): PeriodicJob => ({
  name: 'run schedulers',
  everyMs: 1000,
  run: () => runSchedulers(ctx),
})
