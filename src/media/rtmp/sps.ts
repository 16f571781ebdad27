/** Reads the bits of a NAL unit, without its emulation prevention bytes (ITU-T H.264 section 7.3.1). */
class Bits {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isDone(): boolean {
    return this.#at > this.#bytes.length * 8
  }

  /** Zeros follow the end. */
  bit(): number {
    const byte = this.#bytes[this.#at >> 3] ?? 0
    return (byte >> (7 - (this.#at++ & 7))) & 1
  }

  bits(count: number): number {
    let value = 0
    for (let i = 0; i < count; i++) value = value * 2 + this.bit()
    return value
  }

  /** Exp-Golomb, unsigned (section 9.1). */
  unsigned(): number {
    let zeros = 0
    while (zeros < 32 && this.bit() === 0) zeros++
    return 2 ** zeros - 1 + this.bits(zeros)
  }

  signed(): number {
    const code = this.unsigned()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }
}

/** Profiles whose parameter set tells the chroma format (section 7.3.2.1.1). */
const WITH_CHROMA = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])

/** The size in pixels that an H.264 sequence parameter set (with its NAL header) tells; null when it makes no sense. */
export function sizeOfSps(nal: Uint8Array): { width: number; height: number } | null {
  const bits = new Bits(withoutEmulation(nal.subarray(1)))
  const profile = bits.bits(8)
  bits.bits(16) // Constraint flags and level.
  bits.unsigned()
  const chroma = WITH_CHROMA.has(profile) ? readChroma(bits) : 1
  bits.unsigned() // log2_max_frame_num
  skipOrderCount(bits)
  bits.unsigned() // Reference frames.
  bits.bit()
  const width = (bits.unsigned() + 1) * 16
  const mapHeight = (bits.unsigned() + 1) * 16
  const fieldFactor = bits.bit() === 1 ? 1 : 2
  if (fieldFactor === 2) bits.bit()
  bits.bit()
  const crop = bits.bit() === 1 ? readCrop(bits, chroma, fieldFactor) : { x: 0, y: 0 }
  const size = { width: width - crop.x, height: mapHeight * fieldFactor - crop.y }
  return bits.isDone || !isSane(size.width) || !isSane(size.height) ? null : size
}

const isSane = (pixels: number): boolean => pixels > 0 && pixels <= 16_384

function readChroma(bits: Bits): number {
  const chroma = bits.unsigned()
  if (chroma === 3) bits.bit()
  bits.unsigned()
  bits.unsigned()
  bits.bit()
  if (bits.bit() === 1) skipScalingLists(bits, chroma === 3 ? 12 : 8)
  return chroma
}

/** Section 7.3.2.1.1.1. */
function skipScalingLists(bits: Bits, count: number): void {
  for (let list = 0; list < count; list++) {
    if (bits.bit() === 0) continue
    let next = 8
    for (let i = 0, last = 8; i < (list < 6 ? 16 : 64) && next !== 0; i++) {
      next = (last + bits.signed() + 256) % 256
      if (next !== 0) last = next
    }
  }
}

function skipOrderCount(bits: Bits): void {
  const type = bits.unsigned()
  if (type === 0) bits.unsigned()
  if (type !== 1) return
  bits.bit()
  bits.signed()
  bits.signed()
  const cycle = Math.min(bits.unsigned(), 255)
  for (let i = 0; i < cycle; i++) bits.signed()
}

/** Cropping counts in chroma samples (table 6-1), and in pairs of lines where there are fields. */
function readCrop(bits: Bits, chroma: number, fieldFactor: number): { x: number; y: number } {
  const unitX = chroma === 1 || chroma === 2 ? 2 : 1
  const unitY = (chroma === 1 ? 2 : 1) * fieldFactor
  const [left, right, top, bottom] = [bits.unsigned(), bits.unsigned(), bits.unsigned(), bits.unsigned()]
  return { x: (left + right) * unitX, y: (top + bottom) * unitY }
}

function withoutEmulation(bytes: Uint8Array): Uint8Array {
  const kept: number[] = []
  for (const [at, byte] of bytes.entries()) {
    if (byte !== 3 || at < 2 || bytes[at - 1] !== 0 || bytes[at - 2] !== 0) kept.push(byte)
  }
  return Uint8Array.from(kept)
}
