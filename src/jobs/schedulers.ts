import type { Context } from '../commands/context.ts'
import { runSchedulers } from '../commands/v2life/occurrences.ts'
import type { Job } from './timers.ts'

/** Begins and ends what schedulers want, to the second. */
export const schedulerJob = (ctx: Context): Job => ({
  name: 'run schedulers',
  everyMs: 1000,
  run: () => runSchedulers(ctx),
})
