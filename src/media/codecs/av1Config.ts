import { BitReader } from './bits.ts'
import type { VideoFormat } from './codec.ts'

/**
 * Reads the size in pixels and the av1C (AV1 in ISOBMFF section 2.3) from a sequence header OBU. `obu` is the whole OBU
 * with its size field, `body` the same without its header. Null when it is malformed.
 */
export function readSequenceHeader(obu: Buffer, body: Buffer): VideoFormat | null {
  const header = parse(body)
  if (header === null) return null
  const { width, height, profile, level, tier, color } = header
  const config = Buffer.concat([Buffer.from([0x81, (profile << 5) | level, (tier << 7) | color.flags, 0]), obu])
  return { width, height, config }
}

/** transfer_characteristics in the body of a sequence header OBU; null when it is malformed. */
export const readAv1Transfer = (body: Buffer): number | null => parse(body)?.color.transfer ?? null

interface SequenceHeader {
  readonly width: number
  readonly height: number
  readonly profile: number
  readonly level: number
  readonly tier: number
  readonly color: Color
}

interface Color {
  /** The third byte of av1C without the tier: bit depth, monochrome, subsampling, sample position. */
  readonly flags: number
  readonly transfer: number
}

function parse(body: Buffer): SequenceHeader | null {
  const bits = new BitReader(body.subarray(0, 256))
  const profile = bits.bits(3)
  bits.skip(1)
  const isReduced = bits.flag()
  const { level, tier } = isReduced ? { level: bits.bits(5), tier: 0 } : readOperatingPoints(bits)
  const [widthBits, heightBits] = [bits.bits(4) + 1, bits.bits(4) + 1]
  const [width, height] = [bits.bits(widthBits) + 1, bits.bits(heightBits) + 1]
  skipTools(bits, isReduced)
  const color = readColor(bits, profile)
  return bits.isOver || profile > 2 ? null : { width, height, profile, level, tier, color }
}

/** Reads level and tier of the first operating point (AV1 section 5.5.1); skips the timing of all. */
function readOperatingPoints(bits: BitReader): { level: number; tier: number } {
  let delayBits = 0
  let hasModel = false
  if (bits.flag()) {
    bits.skip(64)
    if (bits.flag()) bits.unsigned()
    hasModel = bits.flag()
    if (hasModel) {
      delayBits = bits.bits(5) + 1
      bits.skip(32 + 5 + 5)
    }
  }
  const hasDelays = bits.flag()
  const count = bits.bits(5) + 1
  let found = { level: 0, tier: 0 }
  for (let point = 0; point < count; point++) {
    bits.skip(12)
    const level = bits.bits(5)
    const tier = level > 7 ? bits.bits(1) : 0
    if (point === 0) found = { level, tier }
    if (hasModel && bits.flag()) bits.skip(2 * delayBits + 1)
    if (hasDelays && bits.flag()) bits.skip(4)
  }
  return found
}

/** Skips everything between the size and the colour configuration. */
function skipTools(bits: BitReader, isReduced: boolean): void {
  if (!isReduced && bits.flag()) bits.skip(7)
  bits.skip(3)
  if (!isReduced) {
    bits.skip(4)
    const hasOrder = bits.flag()
    if (hasOrder) bits.skip(2)
    const screenContent = bits.flag() ? 2 : bits.bits(1)
    if (screenContent > 0 && !bits.flag()) bits.skip(1)
    if (hasOrder) bits.skip(3)
  }
  bits.skip(3)
}

/** Section 5.5.2. */
function readColor(bits: BitReader, profile: number): Color {
  const isHigh = bits.flag()
  const isTwelve = profile === 2 && isHigh && bits.flag()
  const isMono = profile !== 1 && bits.flag()
  const described = bits.flag() ? [bits.bits(8), bits.bits(8), bits.bits(8)] : [2, 2, 2]
  const [, transfer = 2] = described
  const depth = (isHigh ? 0x40 : 0) | (isTwelve ? 0x20 : 0)
  if (isMono) return { flags: depth | 0x10 | 0x0c, transfer }
  // sRGB with the identity matrix has no subsampling and no range bit.
  if (described.join() === '1,13,0') return { flags: depth, transfer }
  bits.skip(1)
  const { x, y } = readSubsampling(bits, profile, isTwelve)
  const position = x === 1 && y === 1 ? bits.bits(2) : 0
  return { flags: depth | (x << 3) | (y << 2) | position, transfer }
}

function readSubsampling(bits: BitReader, profile: number, isTwelve: boolean): { x: number; y: number } {
  if (profile === 0) return { x: 1, y: 1 }
  if (profile === 1) return { x: 0, y: 0 }
  if (!isTwelve) return { x: 1, y: 0 }
  const x = bits.bits(1)
  return { x, y: x === 1 ? bits.bits(1) : 0 }
}
