import { pause } from '../base/clock.ts'
import { Failures, type RepeatOptions } from '../base/repeat.ts'
import { StoreUnavailable } from '../store/store.ts'

/** Changes that may wait while the store is unavailable. */
const WAITING_MAX = 1000
const AGAIN_MS = 1000

/** @param isAgain it was tried before. That may have been written, and the answer lost. */
type Work = (isAgain: boolean) => Promise<void>

/**
 * Writes what became of targets or pulls, one after the other: an end must not come before its start. What cannot be written because
 * the store is unavailable is tried again, and the rest waits.
 */
export interface InOrder {
  /** @param facts for the log, if it cannot be written */
  write(work: Work, facts: Readonly<Record<string, string | number>>): void
  /** Resolves when nothing waits of what there is now. */
  readonly written: Promise<void>
  /** Tries what waits once more, and what comes later once. Resolves when nothing waits. */
  stop(): Promise<void>
}

/** @param what they are changes of, for the log */
export function inOrder({ clock, log }: Pick<RepeatOptions, 'clock' | 'log'>, what: 'target' | 'pull'): InOrder {
  const failures = new Failures({ log, name: `write what became of ${what}s` })
  const lost = `a change of a ${what} is lost`
  const stopping = new AbortController()
  const { signal } = stopping
  let written: Promise<void> = Promise.resolve()
  let waiting = 0
  const untilDone = async (work: Work): Promise<void> => {
    for (let isAgain = false; ; isAgain = true) {
      try {
        await work(isAgain)
        return failures.none()
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || signal.aborted) throw error
        failures.add(error)
      }
      await pause(clock, AGAIN_MS, signal)
    }
  }
  return {
    write(work, facts) {
      if (waiting >= WAITING_MAX) return log.warn(facts, lost)
      waiting += 1
      written = written
        .then(() => untilDone(work))
        .catch((error: unknown) => log.warn({ err: error, ...facts }, lost))
        .finally(() => (waiting -= 1))
    },
    get written() {
      return written
    },
    stop() {
      stopping.abort()
      return written
    },
  }
}
