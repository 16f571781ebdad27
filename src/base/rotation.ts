/**
 * How far apart the turns of those are that came one after another. PostgreSQL keeps their rows in one page, which has room for a
 * few new versions at a time: further ones go to other pages, and each of these costs an entry in every index.
 */
const QUEUES = 20

/** Items that take turns: those that have waited longest come first, and then wait again. */
export class Rotation<T> {
  /** Which visit to the queue gave the item its last turn. Those that waited longest are the first of their queue. */
  readonly #queues = Array.from({ length: QUEUES }, () => new Map<T, number>())
  readonly #queueOf = new Map<T, Map<T, number>>()
  #visit = 0
  #added = 0

  get size(): number {
    return this.#queueOf.size
  }

  /** Its turn comes before each other item has had two. One that is in already keeps its turn. */
  add(item: T): void {
    if (this.#queueOf.has(item)) return
    const queue = this.#queue(this.#added++)
    queue.set(item, -1)
    this.#queueOf.set(item, queue)
  }

  delete(item: T): void {
    this.#queueOf.get(item)?.delete(item)
    this.#queueOf.delete(item)
  }

  /** The next `count` items, or all if there are fewer. */
  next(count: number): T[] {
    if (count >= this.size) return [...this.#queueOf.keys()]
    const items: T[] = []
    while (items.length < count) {
      const queue = this.#queue(this.#visit)
      const [longest] = queue
      if (longest === undefined || longest[1] === this.#visit) {
        this.#visit += 1
        continue
      }
      const [item] = longest
      queue.delete(item)
      queue.set(item, this.#visit)
      items.push(item)
    }
    return items
  }

  #queue(visit: number): Map<T, number> {
    return this.#queues[visit % QUEUES] as Map<T, number>
  }
}

/** What is written of few items each second, however long it may wait. */
const LEAST_A_SECOND = 20

/**
 * How many of `count` items are written in a round every `everyMs`, so that each is written once in `withinMs` and no round
 * writes more than another. Few items are all written in each round.
 */
export const shareOfRound = (count: number, everyMs: number, withinMs: number): number =>
  Math.ceil((Math.max(count, (LEAST_A_SECOND * withinMs) / 1000) * everyMs) / withinMs)
