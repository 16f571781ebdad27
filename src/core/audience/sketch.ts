/** Registers of a sketch. The standard error of the estimate is 1.04 / √4096, 1.6%. */
const REGISTERS = 4096
const INDEX_BITS = 12
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const VALUES = new Map(Array.from(DIGITS, (digit, value) => [digit, value]))

/**
 * Counts different viewers without keeping one of them: HyperLogLog (Flajolet et al. 2007). Of each viewer it takes 12 bits
 * of a keyed hash as an index and at most 5 bits as a rank, and keeps the highest rank of each index. Sketches of several times
 * or streams merge into that of all of them, which sums of viewers do not.
 */
export class Sketch {
  /** By index. */
  readonly #ranks = new Map<number, number>()

  /** Adds a viewer by its 32-bit hash. */
  add(hash: number): void {
    const rest = (hash << INDEX_BITS) >>> 0
    this.#raise(hash >>> (32 - INDEX_BITS), Math.min(Math.clz32(rest), 32 - INDEX_BITS) + 1)
  }

  merge(other: Sketch): void {
    for (const [index, rank] of other.#ranks) this.#raise(index, rank)
  }

  /** How many different viewers were added. Below 10,000 it counts empty registers, which is more exact. */
  estimate(): number {
    const empty = REGISTERS - this.#ranks.size
    const linear = empty === 0 ? Number.POSITIVE_INFINITY : REGISTERS * Math.log(REGISTERS / empty)
    if (linear <= 2.5 * REGISTERS) return Math.round(linear)
    let sum = empty
    for (const rank of this.#ranks.values()) sum += 2 ** -rank
    return Math.round((ALPHA * REGISTERS * REGISTERS) / sum)
  }

  /** Three characters for each register in use, or all 4,096 registers where that is shorter. */
  toText(): string {
    const digit = (value: number): string => DIGITS[value] ?? ''
    if (this.#ranks.size * 3 >= REGISTERS)
      return Array.from({ length: REGISTERS }, (_, index) => digit(this.#ranks.get(index) ?? 0)).join('')
    return [...this.#ranks].map(([index, rank]) => digit(index >>> 6) + digit(index & 63) + digit(rank)).join('')
  }

  /** The inverse of `toText`. */
  static of(text: string): Sketch {
    const sketch = new Sketch()
    const value = (at: number): number => VALUES.get(text[at] ?? '') ?? 0
    if (text.length === REGISTERS) for (let at = 0; at < REGISTERS; at++) sketch.#raise(at, value(at))
    else for (let at = 0; at + 2 < text.length; at += 3) sketch.#raise(value(at) * 64 + value(at + 1), value(at + 2))
    return sketch
  }

  #raise(index: number, rank: number): void {
    if (rank > (this.#ranks.get(index) ?? 0)) this.#ranks.set(index, rank)
  }
}

/** A 32-bit hash of a text: FNV-1a with a secret beginning, mixed by the last steps of MurmurHash3. */
export function hashOf(text: string, seed: number): number {
  let hash = seed ^ 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16) ^ seed, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
