import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { repeat } from '../base/repeat.ts'

/** A job that repeats while the server runs. */
export interface PeriodicJob {
  name: string
  everyMs: number
  run(): Promise<unknown>
}

interface JobContext {
  readonly clock: Clock
  readonly log: Logger
  readonly random: Random
}

/**
 * Runs each job at its interval, never twice at once, and not at the same moments as other servers that started with this one.
 * `stop` resolves when the current runs have ended.
 */
export function startJobs(ctx: JobContext, jobs: readonly PeriodicJob[]): { stop(): Promise<void> } {
  const { clock, log, random: jitter } = ctx
  const repetitions = jobs.map((job) =>
    repeat({ clock, log, name: job.name, everyMs: job.everyMs, pausesFirst: true, jitter }, async () => {
      await job.run()
    }),
  )
  return {
    async stop() {
      await Promise.all(repetitions.map((repetition) => repetition.stop()))
    },
  }
}
