const NONE: ReadonlySet<never> = new Set<never>()

/** Values that each belong to one room, by its name. */
export class ByRoom<T> {
  readonly #groups = new Map<string, Set<T>>()

  /** Those of a room, in the order in which they were added. */
  of(room: string): ReadonlySet<T> {
    return this.#groups.get(room) ?? NONE
  }

  /** Those of all rooms. */
  *all(): Generator<T> {
    for (const group of this.#groups.values()) yield* group
  }

  add(room: string, value: T): void {
    const group = this.#groups.get(room) ?? new Set<T>()
    this.#groups.set(room, group.add(value))
  }

  delete(room: string, value: T): void {
    const group = this.#groups.get(room)
    group?.delete(value)
    if (group?.size === 0) this.#groups.delete(room)
  }
}
