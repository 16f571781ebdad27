/** Whose work it is. The origins of a class take turns, so that much work of one delays no other by more than one turn. */
export interface WorkOrigin {
  readonly key: string
  /** Goes before the origins that are not first, but in every fourth turn, and never finds their queue full. */
  readonly isFirst: boolean
}

/** Those that are first have so many turns in a row while others wait. */
const FIRST_IN_A_ROW = 3

interface TurnLimits {
  readonly atOnce: number
  /** In each of the two classes of origins. */
  readonly waitingMax: number
  readonly waitingOfOriginMax: number
}

/** Limits how much costly work runs at a time; further work waits in the queue of its origin. Every queue is bounded. */
export class Turns {
  readonly #atOnce: number
  readonly #first: Waiting
  readonly #others: Waiting
  #running = 0
  #firstInARow = 0

  constructor(limits: TurnLimits) {
    this.#atOnce = limits.atOnce
    this.#first = new Waiting(limits)
    this.#others = new Waiting(limits)
  }

  /** Null: too much work waits already, and this was not begun. */
  async run<T>({ key, isFirst }: WorkOrigin, work: () => Promise<T>): Promise<T | null> {
    if (this.#running < this.#atOnce) this.#running += 1
    // The one that ends passes its turn on.
    else if (!(await (isFirst ? this.#first : this.#others).turn(key))) return null
    try {
      return await work()
    } finally {
      if (!this.#next()) this.#running -= 1
    }
  }

  /** Gives the next one its turn; false: none waits. */
  #next(): boolean {
    if (this.#firstInARow < FIRST_IN_A_ROW && this.#first.begin()) {
      this.#firstInARow += 1
      return true
    }
    this.#firstInARow = 0
    return this.#others.begin() || this.#first.begin()
  }
}

type Settle = (isTurn: boolean) => void

/** Queues by origin, in the order in which the origins have their next turn. */
class Waiting {
  readonly #limits: TurnLimits
  readonly #queues = new Map<string, Settle[]>()
  #count = 0

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /** Waits for a turn; false: there is no room. */
  turn(key: string): Promise<boolean> {
    const length = this.#queues.get(key)?.length ?? 0
    const isFull = this.#count >= this.#limits.waitingMax && !this.#dropFromLonger(length + 1)
    if (isFull || length >= this.#limits.waitingOfOriginMax) return Promise.resolve(false)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const queue = this.#queues.get(key) ?? []
    queue.push(resolve)
    this.#queues.set(key, queue)
    this.#count += 1
    return promise
  }

  /** Gives the next one its turn; false: none waits. */
  begin(): boolean {
    const [next] = this.#queues
    if (!next) return false
    const [key, queue] = next
    this.#queues.delete(key)
    if (queue.length > 1) this.#queues.set(key, queue)
    this.#count -= 1
    queue.shift()?.(true)
    return true
  }

  /** Makes room at the cost of the longest queue, if it is longer than this. */
  #dropFromLonger(length: number): boolean {
    const [longest] = [...this.#queues.values()].toSorted((a, b) => b.length - a.length)
    if (!longest || longest.length <= length) return false
    longest.pop()?.(false)
    this.#count -= 1
    return true
  }
}

/** How long others wait for one turn of long work. */
const TURN_MS = 10

/** Waits for a turn of the event loop in which no other long work is done. */
export const longTurn = (): Promise<void> => new Promise((resolve) => longWork.take(resolve))

/** Does long work that may pause wherever it yields, a turn at a time: others have the event loop in between. */
export async function inTurns<T>(work: Iterator<unknown, T, undefined>): Promise<T> {
  for (;;) {
    await longTurn()
    const untilMs = performance.now() + TURN_MS
    do {
      const step = work.next()
      if (step.done) return step.value
    } while (performance.now() < untilMs)
  }
}

/** Spreads work over the turns of the event loop, so that what others wait for comes between. */
export class OwnTurns {
  readonly #waiting: (() => void)[] = []
  #isTaken = false

  /** Calls `work` in a turn with no other work of these: now, if this one has none yet. It must not throw. */
  take(work: () => void): void {
    this.#waiting.push(work)
    if (!this.#isTaken) this.#turn()
  }

  #turn(): void {
    const work = this.#waiting.shift()
    this.#isTaken = work !== undefined
    if (work === undefined) return
    setImmediate(() => this.#turn())
    work()
  }
}

/** Of the whole process: turns of several works do not add up. */
const longWork = new OwnTurns()
