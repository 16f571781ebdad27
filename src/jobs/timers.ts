import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'

/** Something that is done again and again while the server runs. */
export interface PeriodicJob {
  name: string
  everyMs: number
  run(): Promise<unknown>
}

/** Runs each job at its pace, never twice at once. `stop` resolves when the rounds under way have ended. */
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
      // The next round tries again: a job that stops for one failure would be noticed only when the disk is full.
      log.warn({ job: job.name, reason: error instanceof Error ? error.message : String(error) }, 'a job failed')
    }
  }
}
