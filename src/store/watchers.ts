import { Throttle } from '../base/throttle.ts'
import { type Random, systemRandom } from '../base/random.ts'
import type { WatchListener } from './store.ts'

/** How often listeners are called at least, even without a notification. */
const POLL_MS = 1_000
/** A round comes earlier by up to this part, so that nodes that started together do not ask together. */
const JITTER = 0.1

/**
 * So many notifications that can wait are passed on, at once or spread out; then several become one. Each one is a read of changes, and
 * in a busy cluster feeds begin and end dozens of times a second: to read those of a fifth of a second costs little more than to read one.
 */
const CAN_WAIT = { most: 50, windowMs: 10_000 }

/** The listeners of `Store.watch`, called when something changed, and at least once a second while there are any. */
export class Watchers {
  readonly #listeners = new Set<{ call: WatchListener }>()
  readonly #random: Random
  #timer: NodeJS.Timeout | undefined
  readonly #passedOn = new Throttle(CAN_WAIT.most, 1, CAN_WAIT.windowMs)
  /** Until a notification that waits is passed on. */
  #pause: NodeJS.Timeout | undefined

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

  /** Something changed. Listeners hear it at once, or up to a fifth of a second later if it can wait and there were many of those. */
  changed(canWait = false): void {
    if (canWait && this.#pause !== undefined) return
    clearTimeout(this.#pause)
    this.#pause = undefined
    const waitMs = canWait ? this.#passedOn.take('all', performance.now()) : 0
    if (waitMs === 0) this.#call('changed')
    else
      this.#pause = setTimeout(() => {
        this.#pause = undefined
        this.changed(true)
      }, waitMs).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#pause)
    this.#timer = undefined
    this.#pause = undefined
  }

  #call(what: Parameters<WatchListener>[0]): void {
    for (const listener of this.#listeners) listener.call(what)
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#wait(POLL_MS * (1 - JITTER * this.#part()))
      this.#call('second')
    }, ms).unref()
  }

  /** From 0 to 1. */
  #part(): number {
    return this.#random.bytes(2).readUInt16BE() / 0xffff
  }
}
