import { type Random, systemRandom } from '../base/random.ts'
import type { WatchListener } from './store.ts'

/** How often listeners are called at least, even without a notification. */
const POLL_MS = 1_000
/** A round comes earlier by up to this part, so that nodes that started together do not ask together. */
const JITTER = 0.1

/** The listeners of `Store.watch`, called when something changed, and at least once a second while there are any. */
export class Watchers {
  readonly #listeners = new Set<{ call: WatchListener }>()
  readonly #random: Random
  #timer: NodeJS.Timeout | undefined

  constructor(random: Random = systemRandom) {
    this.#random = random
  }

  /** Returns the function that removes the listener. */
  add(call: WatchListener): () => void {
    const entry = { call }
    this.#listeners.add(entry)
    if (this.#timer === undefined) this.#wait(POLL_MS * this.#part())
    return () => {
      this.#listeners.delete(entry)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  call(what: Parameters<WatchListener>[0]): void {
    for (const listener of this.#listeners) listener.call(what)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#wait(POLL_MS * (1 - JITTER * this.#part()))
      this.call('second')
    }, ms).unref()
  }

  /** From 0 to 1. */
  #part(): number {
    return this.#random.bytes(2).readUInt16BE() / 0xffff
  }
}
