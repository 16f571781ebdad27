/** How often the waiting are looked at. A pause of the process is one look, so it ends no wait. */
const LOOK_MS = 500
/** While no connection comes free for five seconds, those in use hang. */
const STALL_LOOKS = 10
/** The longest wait is 15 seconds, also while others get their turn. Clients and proxies wait longer for an answer. */
const WAIT_LOOKS = 30
const WAITING_MAX = 10_000

/** No connection came free in time, or too many wait for one. */
export class NoTurn extends Error {}

interface Waiter {
  readonly sinceLook: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Turns to use the connections of a pool: as many at once as it has, the others in the order in which they came. So a burst waits for as
 * long as the database works on it, within a bound, and a database that answers nothing is noticed within seconds.
 */
export class PoolTurns {
  #free: number
  #waiting: Waiter[] = []
  #looking: NodeJS.Timeout | undefined
  #looks = 0
  /** When the last turn began. */
  #begunAtLook = 0

  constructor(connections: number) {
    this.#free = connections
  }

  /** @param isFirst goes before all who wait @throws NoTurn */
  async take(isFirst = false): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      this.#begunAtLook = this.#looks
      return
    }
    if (this.#waiting.length >= WAITING_MAX) throw new NoTurn('too many wait for a connection')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { sinceLook: this.#looks, resolve, reject }
    if (isFirst) this.#waiting.unshift(waiter)
    else this.#waiting.push(waiter)
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS)
    await promise
  }

  /** The next one who waits takes the turn over. */
  giveBack(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else {
      this.#begunAtLook = this.#looks
      next.resolve()
    }
    this.#rest()
  }

  /** Who waits gets no turn any more. */
  refuseAll(error: Error): void {
    this.#refuse(() => true, error)
  }

  #look(): void {
    this.#looks += 1
    const isStalled = this.#looks - this.#begunAtLook >= STALL_LOOKS
    this.#refuse(({ sinceLook }) => isStalled || this.#looks - sinceLook >= WAIT_LOOKS)
  }

  #refuse(isOver: (waiter: Waiter) => boolean, error: Error = new NoTurn('timeout: no connection came free')): void {
    const over = this.#waiting.filter(isOver)
    this.#waiting = this.#waiting.filter((waiter) => !isOver(waiter))
    for (const { reject } of over) reject(error)
    this.#rest()
  }

  #rest(): void {
    if (this.#waiting.length > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }
}
