/** Length-prefixed parts in bytes. */

const encoder = new TextEncoder()
// A byte order mark is kept as a character of the text. Invalid UTF-8 is refused.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const LENGTH_MAX = 0xffff

export class PartWriter {
  #bytes: number[] = []

  byte(value: number): this {
    this.#bytes.push(value)
    return this
  }

  raw(bytes: Uint8Array): this {
    this.#bytes.push(...bytes)
    return this
  }

  /**
   * Two bytes of length, then UTF-8.
   * @throws RangeError past 65,535 bytes, or for half of a surrogate pair
   */
  text(text: string): this {
    const bytes = encoder.encode(text)
    if (bytes.length > LENGTH_MAX) throw new RangeError('the text is too long')
    if (!text.isWellFormed()) throw new RangeError('the text is not well-formed Unicode')
    return this.byte(bytes.length >> 8)
      .byte(bytes.length & 0xff)
      .raw(bytes)
  }

  bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes)
  }
}

/** Reads the output of `PartWriter`. Null where the bytes end early or are not UTF-8. */
export class PartReader {
  #rest: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#rest = bytes
  }

  byte(): number | null {
    return this.#take(1)?.[0] ?? null
  }

  text(): string | null {
    const [high, low] = this.#take(2) ?? []
    const bytes = high === undefined || low === undefined ? null : this.#take(high * 256 + low)
    if (bytes === null) return null
    try {
      return decoder.decode(bytes)
    } catch {
      return null
    }
  }

  rest(): Uint8Array {
    return this.#rest
  }

  #take(count: number): Uint8Array | null {
    if (this.#rest.length < count) return null
    const taken = this.#rest.subarray(0, count)
    this.#rest = this.#rest.subarray(count)
    return taken
  }
}

/** Compares in constant time. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0)
  return difference === 0
}
