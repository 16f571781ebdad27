import { BitReader } from './bits.ts'
import type { VideoFormat } from './codec.ts'
import { withLength } from './nalUnits.ts'

/** H.264 parameter sets, as in an AVCDecoderConfigurationRecord (ISO/IEC 14496-15 section 5.3.3.1). */
export interface ParameterSets {
  readonly sps: readonly Buffer[]
  readonly pps: readonly Buffer[]
}

export const NAL_SPS = 7
const NAL_PPS = 8

/** nal_unit_type; of an RTP payload its type. */
export const h264Type = (nal: Buffer): number => (nal[0] ?? 0) & 31

/** Size and configuration from the parameter sets in `nals`; null without them. */
export function videoFrameOf(nals: readonly Buffer[]): VideoFormat | null {
  const sps = nals.filter((nal) => h264Type(nal) === NAL_SPS)
  const pps = nals.filter((nal) => h264Type(nal) === NAL_PPS)
  const [first] = sps
  const size = first === undefined ? null : readSps(first)
  if (size === null || pps.length === 0) return null
  const config = writeAvcConfig({ sps, pps })
  return config === null ? null : { ...size, config }
}

/** Null when the sets do not fit the record: up to 31 SPS and 255 PPS of up to 65,535 bytes. */
export function writeAvcConfig({ sps, pps }: ParameterSets): Buffer | null {
  const [first] = sps
  const isTooMuch = sps.length > 31 || pps.length > 255 || [...sps, ...pps].some(({ length }) => length > 0xffff)
  if (first === undefined || first.length < 4 || isTooMuch) return null
  return Buffer.concat([
    // Version 1; profile, its flags and level from the SPS; NAL lengths of 4 bytes.
    Buffer.from([1, ...first.subarray(1, 4), 0xff, 0xe0 | sps.length]),
    ...sps.flatMap(withLength),
    Buffer.from([pps.length]),
    ...pps.flatMap(withLength),
  ])
}

/** The parameter sets of a record; null when it is malformed or its NAL lengths are not of 4 bytes. */
export function readAvcConfig(config: Buffer): ParameterSets | null {
  if (config.length < 7 || config[0] !== 1 || ((config[4] ?? 0) & 3) !== 3) return null
  const sps = readSets(config, 6, config.readUInt8(5) & 31)
  if (sps === null || sps.end >= config.length) return null
  const pps = readSets(config, sps.end + 1, config.readUInt8(sps.end))
  return pps === null ? null : { sps: sps.sets, pps: pps.sets }
}

function readSets(config: Buffer, start: number, count: number): { sets: Buffer[]; end: number } | null {
  const sets: Buffer[] = []
  let at = start
  for (let i = 0; i < count; i++) {
    if (at + 2 > config.length) return null
    const end = at + 2 + config.readUInt16BE(at)
    if (end > config.length) return null
    sets.push(config.subarray(at + 2, end))
    at = end
  }
  return { sets, end: at }
}

/** `profile-level-id` of RFC 6184: 6 hex digits. */
export const profileLevelIdOf = (sps: Buffer): string => sps.toString('hex', 1, 4)

/** Profiles whose SPS carries chroma_format_idc and bit depths (H.264 section 7.3.2.1.1). */
const WITH_CHROMA = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])

/** The frame size in an SPS after cropping, pixels; null when it is malformed. */
export function readSps(sps: Buffer): { width: number; height: number } | null {
  const bits = bitsOf(sps)
  const { width, height } = readSize(bits)
  return bits.isOver || !isSize(width) || !isSize(height) ? null : { width, height }
}

/** The frames per second that an SPS declares (annex E.2.1); null: none. Browsers declare none. */
export function declaredFrameRate(sps: Buffer): number | null {
  const bits = bitsOf(sps)
  readSize(bits)
  if (!bits.flag()) return null
  if (bits.flag() && bits.bits(8) === EXTENDED_SAR) bits.skip(32)
  if (bits.flag()) bits.skip(1)
  if (bits.flag()) skipSignalType(bits)
  if (bits.flag()) skipChromaLocations(bits)
  if (!bits.flag()) return null
  const [unitsInTick, timeScale] = [bits.bits(32), bits.bits(32)]
  // A tick is the time of a field.
  return bits.isOver || unitsInTick === 0 || timeScale === 0 ? null : timeScale / (2 * unitsInTick)
}

const EXTENDED_SAR = 255

/** Skips video_format, video_full_range_flag and the description of colours. */
function skipSignalType(bits: BitReader): void {
  bits.skip(4)
  if (bits.flag()) bits.skip(24)
}

function skipChromaLocations(bits: BitReader): void {
  bits.unsigned()
  bits.unsigned()
}

const bitsOf = (sps: Buffer): BitReader => new BitReader(withoutEmulation(sps.subarray(1, 1025)))

/** Reads an SPS up to vui_parameters_present_flag. */
function readSize(bits: BitReader): { width: number; height: number } {
  const profile = bits.bits(8)
  bits.skip(16)
  bits.unsigned()
  const chroma = WITH_CHROMA.has(profile) ? readChroma(bits) : 1
  bits.unsigned()
  skipOrder(bits)
  bits.unsigned()
  bits.skip(1)
  const columns = bits.unsigned() + 1
  const rows = bits.unsigned() + 1
  const isFrames = bits.flag()
  if (!isFrames) bits.skip(1)
  bits.skip(1)
  const [left, right, top, bottom] = bits.flag()
    ? [bits.unsigned(), bits.unsigned(), bits.unsigned(), bits.unsigned()]
    : [0, 0, 0, 0]
  const [unitX, unitY] = [chroma === 1 || chroma === 2 ? 2 : 1, (chroma === 1 ? 2 : 1) * (isFrames ? 1 : 2)]
  return {
    width: columns * 16 - (left + right) * unitX,
    height: rows * 16 * (isFrames ? 1 : 2) - (top + bottom) * unitY,
  }
}

/** Level 6.2, the highest, allows 16,888 pixels in a row or column, in H.265 too. */
export const isSize = (pixels: number): boolean => pixels > 0 && pixels <= 16_888

/** Reads chroma_format_idc and skips the scaling lists behind it. */
function readChroma(bits: BitReader): number {
  const chroma = bits.unsigned()
  if (chroma === 3) bits.skip(1)
  bits.unsigned()
  bits.unsigned()
  bits.skip(1)
  if (bits.flag()) {
    for (let list = 0; list < (chroma === 3 ? 12 : 8); list++)
      if (bits.flag()) skipScalingList(bits, list < 6 ? 16 : 64)
  }
  return chroma
}

function skipScalingList(bits: BitReader, size: number): void {
  let [last, next] = [8, 8]
  for (let i = 0; i < size; i++) {
    if (next !== 0) next = (last + bits.signed() + 256) % 256
    last = next === 0 ? last : next
  }
}

/** Skips pic_order_cnt_type and the fields that depend on it. */
function skipOrder(bits: BitReader): void {
  const type = bits.unsigned()
  if (type === 0) bits.unsigned()
  if (type !== 1) return
  bits.skip(1)
  bits.signed()
  bits.signed()
  const cycle = Math.min(255, bits.unsigned())
  for (let i = 0; i < cycle; i++) bits.signed()
}

/** Removes emulation prevention: the 3 in each 0, 0, 3 (section 7.4.1). */
export function withoutEmulation(bytes: Buffer): Buffer {
  const rest = [...bytes].filter((byte, at) => byte !== 3 || at < 2 || bytes[at - 1] !== 0 || bytes[at - 2] !== 0)
  return Buffer.from(rest)
}

/** Puts a 3 in front of each byte that would make a start code, or its beginning, with two zeros before it. */
export function withEmulation(bytes: Buffer): Buffer {
  let zeros = 0
  const written = [...bytes].flatMap((byte) => {
    const isEscaped = zeros === 2 && byte <= 3
    if (byte === 0) zeros = isEscaped ? 1 : Math.min(2, zeros + 1)
    else zeros = 0
    return isEscaped ? [3, byte] : [byte]
  })
  return Buffer.from(written)
}
