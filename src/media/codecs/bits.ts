/** Reads bits, the highest of each byte first. Past the end it reads zeros and `isOver` is true. */
export class BitReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** True after a read past the end. */
  get isOver(): boolean {
    return this.#at > this.#bytes.length * 8
  }

  /** `count` bits, 32 at most, as an unsigned number. */
  bits(count: number): number {
    let value = 0
    for (let i = 0; i < count; i++) value = value * 2 + this.#bit()
    return value
  }

  flag(): boolean {
    return this.#bit() === 1
  }

  skip(count: number): void {
    this.#at += count
  }

  /** Exp-Golomb code, ue(v) of H.264 section 9.1. */
  unsigned(): number {
    let zeros = 0
    while (zeros < 32 && !this.isOver && this.#bit() === 0) zeros++
    return 2 ** zeros - 1 + this.bits(zeros)
  }

  /** se(v) of H.264 section 9.1.1. */
  signed(): number {
    const code = this.unsigned()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }

  #bit(): number {
    const byte = this.#bytes[this.#at >> 3] ?? 0
    return (byte >> (7 - (this.#at++ & 7))) & 1
  }
}
