import { setImmediate as nextTurn } from 'node:timers/promises'

interface Waiting {
  readonly done: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects items that arrive one by one and works on them in batches. While one batch runs, the next one gathers.
 * Batches run one at a time, in the order of arrival. An item that is already waiting is not added twice.
 */
export class Batches<T> {
  readonly #most: number
  readonly #waiting = new Map<T, Waiting>()
  #working = false

  /** @param most items in a batch */
  constructor(most: number) {
    this.#most = most
  }

  /**
   * Resolves when the batch of this item is done. When a batch fails, its items and all waiting items reject: what
   * stopped it (an unavailable store, for example) would stop and delay each of them in turn.
   */
  add(item: T, work: (batch: readonly T[]) => Promise<void>): Promise<void> {
    const already = this.#waiting.get(item)
    if (already) return already.done
    const waiting = Promise.withResolvers<void>()
    this.#waiting.set(item, { ...waiting, done: waiting.promise })
    if (!this.#working) void this.#work(work)
    return waiting.promise
  }

  async #work(work: (batch: readonly T[]) => Promise<void>): Promise<void> {
    this.#working = true
    while (this.#waiting.size > 0) {
      // Waits one turn of the event loop, so that all items that arrive together join the batch.
      await nextTurn()
      const batch = [...this.#waiting].slice(0, this.#most)
      for (const [item] of batch) this.#waiting.delete(item)
      await this.#workOn(batch, work)
    }
    this.#working = false
  }

  async #workOn(batch: readonly [T, Waiting][], work: (batch: readonly T[]) => Promise<void>): Promise<void> {
    try {
      await work(batch.map(([item]) => item))
      for (const [, { resolve }] of batch) resolve()
    } catch (error) {
      for (const [, { reject }] of [...batch, ...this.#waiting]) reject(error)
      this.#waiting.clear()
    }
  }
}
