/** A map of at most `max` entries. It drops the least recently used ones. */
export class Lru<K, V> {
  readonly #max: number
  readonly #map = new Map<K, V>()

  constructor(max: number) {
    this.#max = max
  }

  get(key: K): V | undefined {
    const value = this.#map.get(key)
    // Moving an entry on every hit costs more than it is worth while there is room.
    if (value !== undefined && this.#map.size * 2 > this.#max) {
      this.#map.delete(key)
      this.#map.set(key, value)
    }
    return value
  }

  set(key: K, value: V): void {
    this.#map.delete(key)
    this.#map.set(key, value)
    if (this.#map.size > this.#max) {
      const oldest = this.#map.keys().next()
      if (!oldest.done) this.#map.delete(oldest.value)
    }
  }

  delete(key: K): void {
    this.#map.delete(key)
  }

  clear(): void {
    this.#map.clear()
  }
}
