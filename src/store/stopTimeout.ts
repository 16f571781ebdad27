/** How often a wait is looked at. A pause of the process is one look, so it gives nothing up. */
const LOOK_MS = 500
/** Less than what a connection may take to open, so that this limit is the one that is reached. */
const SILENT_MS = 4_000
/** Of a server that has answered something meanwhile. It ends statements itself after this time. */
const SLOW_MS = 10_000

interface Wait {
  limit?: NodeJS.Timeout
}

/**
 * How long a process that stops waits for its database server. Each part that stops may have something to write, and a server that
 * hangs would let one after the other wait. So the first wait that is too long, from the stop on, is the last one: the server is
 * given up. What is not on record then is lost as in a crash.
 */
export class StopTimeout {
  readonly #givingUp = new AbortController()
  readonly #waits = new Set<Wait>()
  #answers = 0
  #isStopping = false

  /** Aborted when the server is given up: end all waits, and begin no other. */
  get givenUp(): AbortSignal {
    return this.#givingUp.signal
  }

  /** The process stops. Idempotent. */
  begin(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    for (const wait of this.#waits) this.#limit(wait)
  }

  /** Call it when a wait for the server begins, and what it returns when it is over. */
  wait(): (isAnswered: boolean) => void {
    const wait: Wait = {}
    this.#waits.add(wait)
    if (this.#isStopping) this.#limit(wait)
    return (isAnswered) => {
      if (isAnswered) this.#answers += 1
      this.#waits.delete(wait)
      clearInterval(wait.limit)
    }
  }

  #limit(wait: Wait): void {
    const answers = this.#answers
    let waitedMs = 0
    wait.limit = setInterval(() => {
      waitedMs += LOOK_MS
      if (waitedMs >= (this.#answers === answers ? SILENT_MS : SLOW_MS)) this.#giveUp()
    }, LOOK_MS)
  }
  #giveUp(): void {
    for (const { limit } of this.#waits) clearInterval(limit)
    this.#givingUp.abort()
  }
}
