import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'

/** A job that repeats while the server runs. */
export interface PeriodicJob {
  name: string
  everyMs: number
  run(): Promise<unknown>
}

/** Runs each job at its interval, never twice at once. `stop` resolves when the current runs have ended. */
export function startJobs(clock: Clock, log: Logger, jobs: readonly PeriodicJob[]): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const loops = jobs.map((job) => loop(clock, log, job, stopping.signal))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

async function loop(clock: Clock, log: Logger, job: PeriodicJob, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(job.everyMs, signal)
    } catch {
      return
    }
    try {
      await job.run()
    } catch (error) {
      // The next run tries again. If a job stopped after one failure, an operator would notice only when the
      // disk is full.
      log.warn({ job: job.name, reason: error instanceof Error ? error.message : String(error) }, 'a job failed')
    }
  }
}
