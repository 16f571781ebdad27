import type { JoinedFrame, VideoFormat } from './codec.ts'
import { BitReader } from './bits.ts'
import { isSize, withoutEmulation } from './h264Config.ts'
import { readTransfer } from './hevcTransfer.ts'
import { MAX_NALS, splitNals, withLength } from './nalUnits.ts'

/** H.265 (ITU-T H.265). Frames consist of NAL units with 4-byte length prefixes, as in MP4. */

export const VPS = 32
export const SPS = 33
const PPS = 34
/** The bytes of an HEVCDecoderConfigurationRecord before its arrays (ISO/IEC 14496-15 section 8.3.3.1). */
const RECORD_BYTES = 23
const LENGTH_AT = 21

/** nal_unit_type; of an RTP payload its type. */
export const hevcType = (nal: Buffer): number => ((nal[0] ?? 0) >> 1) & 63

/** Whether a decoder can begin with a picture of this type: IRAP (table 7-1). */
export const isIrap = (type: number): boolean => type >= 16 && type <= 23

/** A whole frame. Null: its lengths do not add up. */
export function hevcFrame(data: Buffer): JoinedFrame | null {
  const nals = splitNals(data)
  if (nals === null) return null
  const key = nals.some((nal) => isIrap(hevcType(nal)))
  return { key, data, format: null }
}

/** The size in the first SPS of a record after cropping, pixels, and how long the lengths of its NAL units are. */
interface HevcConfig {
  readonly width: number
  readonly height: number
  readonly lengthBytes: number
  /** The record, made to say lengths of 4 bytes. */
  readonly config: Buffer
}

/** Null: the record is malformed. */
export function readHevcConfig(record: Buffer): HevcConfig | null {
  if (record.length < RECORD_BYTES || record[0] !== 1) return null
  const sps = hevcParameterSets(record)?.find((nal) => hevcType(nal) === SPS)
  const facts = sps === undefined ? null : readSps(sps)
  if (facts === null) return null
  const config = Buffer.from(record)
  const lengths = config.readUInt8(LENGTH_AT)
  config.writeUInt8(lengths | 3, LENGTH_AT)
  return { width: facts.width, height: facts.height, lengthBytes: (lengths & 3) + 1, config }
}

/** transfer_characteristics of the first SPS of a record (table E.4); null: it says none. */
export function hevcTransfer(record: Uint8Array): number | null {
  const sps = hevcParameterSets(Buffer.from(record))?.find((nal) => hevcType(nal) === SPS)
  if (sps === undefined) return null
  const bits = bitsOf(sps)
  const facts = readSpsHead(sps, bits)
  return facts && readTransfer(bits, facts.layers - 1)
}

/** general_profile_idc of a record, as `profile-id` of SDP. */
export const hevcProfileOf = (record: Uint8Array): string => String((record[1] ?? 0) & 31)

export const isHevcParameterSet = (nal: Buffer): boolean => [VPS, SPS, PPS].includes(hevcType(nal))

/** Size and configuration from the parameter sets in `nals`; null unless all three kinds are there. */
export function hevcFormatOf(nals: readonly Buffer[]): VideoFormat | null {
  const arrays = [VPS, SPS, PPS].map((type) => ({ type, sets: nals.filter((nal) => hevcType(nal) === type) }))
  const sps = arrays.find(({ type }) => type === SPS)?.sets[0]
  const facts = sps === undefined ? null : readSps(sps)
  const isTooMuch = arrays.some(({ sets }) => sets.length === 0 || sets.some(({ length }) => length > 0xffff))
  if (facts === null || isTooMuch) return null
  const config = Buffer.concat([
    recordHead(facts),
    ...arrays.flatMap(({ type, sets }) => [
      Buffer.from([COMPLETE | type, 0, sets.length]),
      ...sets.flatMap(withLength),
    ]),
  ])
  return { width: facts.width, height: facts.height, config }
}

/** An array has all sets of its type: frames repeat none. */
const COMPLETE = 0x80

function recordHead({ profile, chroma, lumaDepth, chromaDepth, layers, isNested }: SpsFacts): Buffer {
  const head = Buffer.alloc(RECORD_BYTES)
  head[0] = 1
  profile.copy(head, 1)
  // What is not known is 0, with its reserved bits: spatial segmentation, parallelism and frame rate.
  head.writeUInt16BE(0xf000, 13)
  head.set([0xfc, 0xfc | chroma, 0xf8 | lumaDepth, 0xf8 | chromaDepth], 15)
  // Lengths of 4 bytes.
  head[LENGTH_AT] = (layers << 3) | (isNested ? 4 : 0) | 3
  head[RECORD_BYTES - 1] = 3
  return head
}

/** The parameter sets of a record, which may have messages beside them; null when an array runs past it, or there are too many. */
export function hevcParameterSets(record: Buffer): Buffer[] | null {
  const nals: Buffer[] = []
  if (record.length < RECORD_BYTES) return null
  let at = RECORD_BYTES
  for (let array = record.readUInt8(RECORD_BYTES - 1); array > 0; array--) {
    if (at + 3 > record.length) return null
    let count = record.readUInt16BE(at + 1)
    for (at += 3; count > 0; count--) {
      const end = at + 2 + (at + 2 > record.length ? record.length : record.readUInt16BE(at))
      if (end > record.length || nals.length === MAX_NALS) return null
      nals.push(record.subarray(at + 2, end))
      at = end
    }
  }
  return nals.filter(isHevcParameterSet)
}

interface SpsFacts {
  /** After the conformance window, pixels. */
  readonly width: number
  readonly height: number
  /** From general_profile_space to general_level_idc, as records have them too. */
  readonly profile: Buffer
  readonly layers: number
  readonly isNested: boolean
  readonly chroma: number
  /** Bits of a sample less 8. */
  readonly lumaDepth: number
  readonly chromaDepth: number
}

/** After the header. */
const bytesOf = (sps: Buffer): Buffer => withoutEmulation(sps.subarray(2, 1026))
const bitsOf = (sps: Buffer): BitReader => new BitReader(bytesOf(sps))

const readSps = (sps: Buffer): SpsFacts | null => readSpsHead(sps, bitsOf(sps))

/** Section 7.3.2.2.1, up to the bits of samples. Null: the SPS is malformed. */
function readSpsHead(sps: Buffer, bits: BitReader): SpsFacts | null {
  bits.skip(4)
  const subLayers = bits.bits(3)
  const isNested = bits.flag()
  skipProfileTierLevel(bits, subLayers)
  bits.unsigned()
  const chroma = bits.unsigned()
  if (chroma === 3) bits.skip(1)
  const [columns, rows] = [bits.unsigned(), bits.unsigned()]
  const [left, right, top, bottom] = bits.flag()
    ? [bits.unsigned(), bits.unsigned(), bits.unsigned(), bits.unsigned()]
    : [0, 0, 0, 0]
  const [unitX, unitY] = [chroma === 1 || chroma === 2 ? 2 : 1, chroma === 1 ? 2 : 1]
  const [width, height] = [columns - (left + right) * unitX, rows - (top + bottom) * unitY]
  const [lumaDepth, chromaDepth] = [bits.unsigned(), bits.unsigned()]
  const isValid = !bits.isOver && isSize(width) && isSize(height) && chroma <= 3 && lumaDepth <= 7 && chromaDepth <= 7
  const profile = bytesOf(sps).subarray(1, 1 + PROFILE_BYTES)
  return isValid ? { width, height, profile, layers: subLayers + 1, isNested, chroma, lumaDepth, chromaDepth } : null
}

const PROFILE_BITS = 88
const LEVEL_BITS = 8
const PROFILE_BYTES = (PROFILE_BITS + LEVEL_BITS) / 8

/** Section 7.3.3. @param subLayers sps_max_sub_layers_minus1 */
function skipProfileTierLevel(bits: BitReader, subLayers: number): void {
  bits.skip(PROFILE_BITS + LEVEL_BITS)
  const present = Array.from({ length: subLayers }, () => ({ profile: bits.flag(), level: bits.flag() }))
  if (subLayers > 0) bits.skip(2 * (8 - subLayers))
  for (const { profile, level } of present) bits.skip((profile ? PROFILE_BITS : 0) + (level ? LEVEL_BITS : 0))
}
