import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { repeat } from '../base/repeat.ts'

/** A job that repeats while the server runs. */
export interface PeriodicJob {
  name: string
  everyMs: number
  run(): Promise<unknown>
}

/** Runs each job at its interval, never twice at once. `stop` resolves when the current runs have ended. */
export function startJobs(clock: Clock, log: Logger, jobs: readonly PeriodicJob[]): { stop(): Promise<void> } {
  const repetitions = jobs.map((job) =>
    repeat({ clock, log, name: job.name, everyMs: job.everyMs, pausesFirst: true }, async () => {
      await job.run()
    }),
  )
  return {
    async stop() {
      await Promise.all(repetitions.map((repetition) => repetition.stop()))
    },
  }
}
