import type { Logger } from '../base/log.ts'

/** Changes that may wait while the store is unavailable. */
const WAITING_MAX = 1000
const LOST = 'an event of a target is lost'

/** Writes what became of targets, one after the other: an end must not come before its start. */
export interface InOrder {
  /** @param facts for the log, if it cannot be written */
  write(work: () => Promise<void>, facts: Readonly<Record<string, string>>): void
  /** Resolves when all is written. */
  done(): Promise<void>
}

export function inOrder(log: Logger): InOrder {
  let written: Promise<void> = Promise.resolve()
  let waiting = 0
  return {
    write(work, facts) {
      if (waiting >= WAITING_MAX) return log.warn(facts, LOST)
      waiting += 1
      written = written
        .then(work)
        .catch((error: unknown) => log.warn({ err: error, ...facts }, LOST))
        .finally(() => (waiting -= 1))
    },
    done: () => written,
  }
}
