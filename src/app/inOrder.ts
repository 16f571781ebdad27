import { pause } from '../base/clock.ts'
import { Failures, type RepeatOptions } from '../base/repeat.ts'
import { StoreUnavailable } from '../store/store.ts'

/** Changes that may wait while the store is unavailable. The oldest of more are lost: the newest say what is now. */
const WAITING_MAX = 1000
const AGAIN_MS = 1000

/** @param isAgain it was tried before. That may have been written, and the answer lost. */
type Work = (isAgain: boolean) => Promise<void>

type Facts = Readonly<Record<string, string | number>>

/**
 * Writes what became of targets or pulls, one after the other: an end must not come before its start. What cannot be written because
 * the store is unavailable is tried again, and the rest waits.
 */
export interface InOrder {
  /** @param facts for the log, if it cannot be written */
  write(work: Work, facts: Facts): void
  /** Resolves when nothing waits. */
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
  /** The first one is being written. */
  const waiting: { readonly work: Work; readonly facts: Facts }[] = []
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
  const writeAll = async (): Promise<void> => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      const { work, facts } = first
      await untilDone(work).catch((error: unknown) => log.warn({ err: error, ...facts }, lost))
      waiting.shift()
    }
  }
  return {
    write(work, facts) {
      waiting.push({ work, facts })
      if (waiting.length === 1) written = writeAll()
      for (const { facts: given } of waiting.splice(1, waiting.length - WAITING_MAX)) log.warn(given, lost)
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
