/** How often listeners are called at least, even without a notification. */
const POLL_MS = 1_000

/** The listeners of `Store.watch`, called on every `ring` and at least once a second while there are any. */
export class Watchers {
  readonly #listeners = new Set<{ call: () => void }>()
  #timer: NodeJS.Timeout | undefined

  /** Returns the function that removes the listener. */
  add(call: () => void): () => void {
    const entry = { call }
    this.#listeners.add(entry)
    this.#timer ??= setInterval(() => this.ring(), POLL_MS).unref()
    return () => {
      this.#listeners.delete(entry)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  ring(): void {
    for (const listener of this.#listeners) listener.call()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
