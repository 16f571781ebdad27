/** Values by a key that several of them share. */
export class SetIndex<K, V> {
  readonly #map = new Map<K, Set<V>>()

  get(key: K): ReadonlySet<V> {
    return this.#map.get(key) ?? NOTHING
  }

  keys(): Iterable<K> {
    return this.#map.keys()
  }

  /** The values of all keys. */
  *values(): Generator<V> {
    for (const values of this.#map.values()) yield* values
  }

  add(key: K, value: V): void {
    const values = this.#map.get(key)
    if (values) values.add(value)
    else this.#map.set(key, new Set([value]))
  }

  remove(key: K, value: V): void {
    const values = this.#map.get(key)
    values?.delete(value)
    if (values?.size === 0) this.#map.delete(key)
  }
}

const NOTHING: ReadonlySet<never> = new Set()
