/** Items that take turns: those that have waited longest come first, and then wait again. */
export class Rotation<T> {
  readonly #items = new Set<T>()

  get size(): number {
    return this.#items.size
  }

  /** Adds it at the end. One that is in already keeps its turn. */
  add(item: T): void {
    this.#items.add(item)
  }

  delete(item: T): void {
    this.#items.delete(item)
  }

  /** The next `count` items, or all if there are fewer. */
  next(count: number): T[] {
    const items: T[] = []
    for (const item of this.#items) {
      if (items.length >= count) break
      items.push(item)
    }
    for (const item of items) {
      this.#items.delete(item)
      this.#items.add(item)
    }
    return items
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
