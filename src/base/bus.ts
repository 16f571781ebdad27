/** Named events of one process, each with a value of its own type (`void`: none). Listeners must not throw. */
export class Bus<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(value: never) => void>>()

  /** Calls `listener` with each event of this name. Returns the function that stops it. */
  on<K extends keyof Events>(name: K, listener: (value: Events[K]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    // A listener of its own for each call, so that one function may listen twice.
    const mine = (value: Events[K]): void => listener(value)
    this.#listeners.set(name, listeners.add(mine))
    return () => void listeners.delete(mine)
  }

  /** Calls each listener in the order in which they came. */
  emit<K extends keyof Events>(name: K, value: Events[K]): void {
    const listeners = this.#listeners.get(name) as ReadonlySet<(value: Events[K]) => void> | undefined
    // As they are now: a listener may stop itself, or add another one.
    for (const listener of new Set(listeners)) listener(value)
  }
}
