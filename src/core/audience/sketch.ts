/** Registers of a sketch. The standard error of the estimate is 1.04 / √4096, 1.6%. */
const REGISTERS = 4096
const INDEX_BITS = 12
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** By character code. A report over a year reads a hundred million digits. */
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => Math.max(0, DIGITS.indexOf(String.fromCharCode(code))))
const FIRST_DIGIT = DIGITS.charCodeAt(0)
/** With more registers in use an array takes less memory than a map. */
const FEW = 128

/**
 * Counts different viewers without keeping one of them: HyperLogLog (Flajolet et al. 2007). Of each viewer it takes 12 bits
 * of a keyed hash as an index and at most 5 bits as a rank, and keeps the highest rank of each index. Sketches of several times
 * or streams merge into that of all of them, which sums of viewers do not.
 */
export class Sketch {
  /** By index; an array as soon as there are many. Null until one is raised, because most sketches are only merged. */
  #ranks: Map<number, number> | Uint8Array | null = null
  /** As it was stored, until it is changed. Most sketches are only merged into another one. */
  #text = ''

  /** Adds a viewer by its 32-bit hash. */
  add(hash: number): void {
    const rest = (hash << INDEX_BITS) >>> 0
    this.#raise(hash >>> (32 - INDEX_BITS), Math.min(Math.clz32(rest), 32 - INDEX_BITS) + 1)
  }

  merge(other: Sketch): void {
    if (other.#text === '') other.#each((index, rank) => this.#raise(index, rank))
    else this.#mergeText(other.#text)
  }

  /** How many different viewers were added. Below 10,000 it counts empty registers, which is more exact. */
  estimate(): number {
    this.#open()
    let [used, sum] = [0, 0]
    for (const rank of (this.#ranks ?? NONE).values())
      if (rank > 0) {
        used += 1
        sum += 1 / (1 << rank)
      }
    const empty = REGISTERS - used
    const linear = empty === 0 ? Number.POSITIVE_INFINITY : REGISTERS * Math.log(REGISTERS / empty)
    if (linear <= 2.5 * REGISTERS) return Math.round(linear)
    return Math.round((ALPHA * REGISTERS * REGISTERS) / (empty + sum))
  }

  /** Three characters for each register in use, or all 4,096 registers where that is shorter. */
  toText(): string {
    const digit = (value: number): string => DIGITS[value] ?? ''
    const [few, all]: [string[], string[]] = [[], Array.from({ length: REGISTERS }, () => digit(0))]
    this.#each((index, rank) => {
      few.push(digit(index >>> 6) + digit(index & 63) + digit(rank))
      all[index] = digit(rank)
    })
    return (few.length * 3 >= REGISTERS ? all : few).join('')
  }

  /** The inverse of `toText`. */
  static of(text: string): Sketch {
    const sketch = new Sketch()
    sketch.#text = text
    return sketch
  }

  #mergeText(text: string): void {
    if (text.length === REGISTERS) {
      this.#open()
      this.#ranks = raiseAll(arrayOf(this.#ranks ?? NONE), text)
    } else
      for (let at = 0; at + 2 < text.length; at += 3)
        this.#raise(valueAt(text, at) * 64 + valueAt(text, at + 1), valueAt(text, at + 2))
  }

  #each(see: (index: number, rank: number) => void): void {
    this.#open()
    for (const [index, rank] of (this.#ranks ?? NONE).entries()) if (rank > 0) see(index, rank)
  }

  #raise(index: number, rank: number): void {
    this.#open()
    this.#ranks ??= new Map()
    const ranks = this.#ranks
    if (ranks instanceof Uint8Array) {
      if (rank > (ranks[index] ?? 0)) ranks[index] = rank
      return
    }
    if (rank > (ranks.get(index) ?? 0)) ranks.set(index, rank)
    if (ranks.size > FEW) this.#ranks = arrayOf(ranks)
  }

  #open(): void {
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    this.#mergeText(text)
  }
}

const NONE: ReadonlyMap<number, number> = new Map()

const valueAt = (text: string, at: number): number => VALUES[text.charCodeAt(at)] ?? 0

function arrayOf(ranks: ReadonlyMap<number, number> | Uint8Array): Uint8Array {
  if (ranks instanceof Uint8Array) return ranks
  const array = new Uint8Array(REGISTERS)
  for (const [index, rank] of ranks) array[index] = rank
  return array
}

const ENCODER = new TextEncoder()
const CODES = new Uint8Array(REGISTERS)

/**
 * Merges a text of all registers. A year of a large account has forty million, so the loop compares bytes: a rank is at most
 * 21, and the digits up to there are letters in their order.
 */
function raiseAll(ranks: Uint8Array, text: string): Uint8Array {
  ENCODER.encodeInto(text, CODES)
  for (let at = 0; at < REGISTERS; at++) {
    const rank = (CODES[at] ?? 0) - FIRST_DIGIT
    if (rank > (ranks[at] ?? 0)) ranks[at] = rank
  }
  return ranks
}

/** A 32-bit hash of a text: FNV-1a with a secret beginning, mixed by the last steps of MurmurHash3. */
export function hashOf(text: string, seed: number): number {
  let hash = seed ^ 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16) ^ seed, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
