import type { BitReader } from './bits.ts'

/** Bounds of what an SPS may say (H.265 section 7.4.3.2). */
const MAX_SETS = 64
const MAX_FRAMES = 16
const MAX_LONG_TERM = 32

/**
 * transfer_characteristics in the rest of an SPS (H.265 sections 7.3.2.2.1 and E.2.1), after the bits of its samples. Null: it says
 * none, or is malformed.
 * @param subLayers sps_max_sub_layers_minus1
 */
export function readTransfer(bits: BitReader, subLayers: number): number | null {
  const orderBits = bits.unsigned() + 4
  skipUnsigned(bits, 3 * (bits.flag() ? subLayers + 1 : 1))
  // The sizes of coding and transform blocks.
  skipUnsigned(bits, 6)
  if (bits.flag() && bits.flag()) skipScalingLists(bits)
  bits.skip(2)
  if (bits.flag()) skipPcm(bits)
  if (!skipReferenceSets(bits) || !skipLongTerm(bits, orderBits)) return null
  bits.skip(2)
  const transfer = bits.flag() ? readVui(bits) : null
  return bits.isOver ? null : transfer
}

function skipUnsigned(bits: BitReader, count: number): void {
  for (let at = 0; at < count; at++) bits.unsigned()
}

/** Section 7.3.4. */
function skipScalingLists(bits: BitReader): void {
  for (let size = 0; size < 4; size++) {
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (!bits.flag()) bits.unsigned()
      else skipUnsigned(bits, Math.min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0))
    }
  }
}

function skipPcm(bits: BitReader): void {
  bits.skip(8)
  skipUnsigned(bits, 2)
  bits.skip(1)
}

/** Section 7.3.7. False: there are more than there may be. */
function skipReferenceSets(bits: BitReader): boolean {
  const count = bits.unsigned()
  let frames = 0
  for (let set = 0; set < count; set++) {
    if (set >= MAX_SETS || frames > MAX_FRAMES) return false
    frames = set > 0 && bits.flag() ? skipPredictedSet(bits, frames) : skipWholeSet(bits)
  }
  return frames <= MAX_FRAMES
}

/** Returns how many frames the set has, like the next one. @param before those of the set that it is predicted from */
function skipPredictedSet(bits: BitReader, before: number): number {
  bits.skip(1)
  bits.unsigned()
  return Array.from({ length: before + 1 }, () => bits.flag() || bits.flag()).filter(Boolean).length
}

function skipWholeSet(bits: BitReader): number {
  const frames = bits.unsigned() + bits.unsigned()
  for (let at = 0; at < Math.min(frames, MAX_FRAMES); at++) {
    bits.unsigned()
    bits.skip(1)
  }
  return frames
}

function skipLongTerm(bits: BitReader, orderBits: number): boolean {
  const count = bits.flag() ? bits.unsigned() : 0
  bits.skip(Math.min(count, MAX_LONG_TERM) * (orderBits + 1))
  return count <= MAX_LONG_TERM
}

const EXTENDED_SAR = 255

function readVui(bits: BitReader): number | null {
  if (bits.flag() && bits.bits(8) === EXTENDED_SAR) bits.skip(32)
  if (bits.flag()) bits.skip(1)
  if (!bits.flag()) return null
  bits.skip(4)
  if (!bits.flag()) return null
  bits.skip(8)
  return bits.bits(8)
}
