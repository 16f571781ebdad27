/** Far more than the kinds that exist; further ones are counted together. */
const KINDS_MAX = 200

/** Counts occurrences of a bounded number of kinds. */
export class Tally {
  readonly #counts: Map<string, number>

  /** @param kinds these have a count from the start: `increase` of Prometheus does not see the first one of a new series */
  constructor(kinds: readonly string[] = []) {
    this.#counts = new Map(kinds.map((kind) => [kind, 0]))
  }

  add(kind: string, count = 1): void {
    const counted = this.#counts.has(kind) || this.#counts.size < KINDS_MAX ? kind : 'other'
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + count)
  }

  /** Begins again at zero. */
  clear(): void {
    this.#counts.clear()
  }

  get(kind: string): number {
    return this.#counts.get(kind) ?? 0
  }

  [Symbol.iterator](): IterableIterator<[kind: string, count: number]> {
    return this.#counts.entries()
  }
}
