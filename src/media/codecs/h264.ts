import type { JoinedFrame, VideoReader } from './codec.ts'
import { BitReader } from './bits.ts'
import { h264Type, NAL_SPS, videoFrameOf, withEmulation, withoutEmulation } from './h264Config.ts'
import { aggregated, depacketize, lengthPrefixed, type NalPayloads, splitNals } from './nalUnits.ts'

/**
 * H.264 over RTP, RFC 6184 with packetization-mode 1: single NAL units, STAP-A and FU-A. Frames consist of NAL units with
 * 4-byte length prefixes, as in MP4.
 */

const NAL_SLICE = 1
const NAL_IDR = 5
const NAL_SEI = 6
const STAP_A = 24
const FU_A = 28

/** First slice of its picture: first_mb_in_slice, ue(v), is 0, so its first bit is 1 (H.264 section 7.3.3). */
const isFirstSlice = (firstByte: number | undefined): boolean => ((firstByte ?? 0) & 0x80) !== 0

/** Packetization mode 1. */
export const H264_PAYLOADS: NalPayloads = {
  headerBytes: 1,
  aggregation: STAP_A,
  fragment: FU_A,
  typeBits: 31,
  typeOf: h264Type,
  isUnit: (type) => type > 0 && type < STAP_A,
  withType: (nal, type) => Buffer.from([((nal[0] ?? 0) & 0xe0) | type]),
  // The importance of the most important one (section 5.7.1).
  aggregationHeader: (nals) => Buffer.from([Math.max(...nals.map((nal) => (nal[0] ?? 0) & 0x60)) | STAP_A]),
}

export const h264: VideoReader = {
  isKeyStart(payload) {
    const type = h264Type(payload)
    if (type === STAP_A) return aggregated(payload, H264_PAYLOADS)?.some(startsKey) === true
    if (type !== FU_A) return startsKey(payload)
    const header = payload[1] ?? 0
    return (header & 0x80) !== 0 && (header & 31) === NAL_IDR && isFirstSlice(payload[2])
  },

  join(payloads) {
    const nals = depacketize(payloads, H264_PAYLOADS)
    return nals === null || nals.length === 0 ? null : joinNals(nals)
  },
}

const startsKey = (nal: Buffer): boolean =>
  h264Type(nal) === NAL_SPS || (h264Type(nal) === NAL_IDR && isFirstSlice(nal[1]))

function joinNals(nals: readonly Buffer[]): JoinedFrame {
  const key = nals.some((nal) => h264Type(nal) === NAL_IDR)
  return { key, data: lengthPrefixed(nals), format: key ? videoFrameOf(nals) : null }
}

/**
 * Whether a decoder can begin with a frame: it has an IDR picture or a recovery point (sections 7.4.1.2.4 and D.2.8), or it is
 * marked as a keyframe, and all its slices are intra coded. Encoders set the mark of FLV wrongly, in both directions.
 */
export function isRandomAccess(frame: Buffer, isMarked: boolean): boolean {
  const nals = splitNals(frame) ?? []
  if (nals.some((nal) => h264Type(nal) === NAL_IDR || hasRecoveryPoint(nal))) return true
  const slices = isMarked ? nals.filter((nal) => h264Type(nal) === NAL_SLICE) : []
  return slices.length > 0 && slices.every(isIntra)
}

/** slice_type is 2 or 7: I (table 7-6). */
function isIntra(slice: Buffer): boolean {
  const bits = new BitReader(slice.subarray(1, 13))
  bits.unsigned()
  return bits.unsigned() % 5 === 2
}

const USER_DATA_UNREGISTERED = 5

/**
 * Puts user data in front of the picture in a frame (sections 7.3.2.3.1 and D.1.7). A frame that has data with this UUID, or no
 * picture, stays as it is.
 *
 * @param uuid 16 bytes
 * @param data at most 200 bytes
 */
export function withUserData(frame: Buffer, uuid: Buffer, data: Buffer): Buffer {
  const nals = splitNals(frame) ?? []
  const at = nals.findIndex((nal) => h264Type(nal) >= NAL_SLICE && h264Type(nal) <= NAL_IDR)
  const before = nals.slice(0, Math.max(at, 0))
  if (at < 0 || before.some((nal) => h264Type(nal) === NAL_SEI && nal.includes(uuid))) return frame
  const header = Buffer.from([USER_DATA_UNREGISTERED, uuid.length + data.length])
  const message = withEmulation(Buffer.concat([header, uuid, data, TRAILING_BITS]))
  return lengthPrefixed([...before, Buffer.concat([Buffer.from([NAL_SEI]), message]), ...nals.slice(at)])
}

const TRAILING_BITS = Buffer.from([0x80])
const RECOVERY_POINT = 6
/** More than encoders write in front of it. */
const SEI_MAX_BYTES = 1024

/** Whether supplemental information has a recovery point among its messages (section 7.3.2.3.1). */
function hasRecoveryPoint(nal: Buffer): boolean {
  if (h264Type(nal) !== NAL_SEI) return false
  const bytes = withoutEmulation(nal.subarray(1, SEI_MAX_BYTES))
  for (let at = 0; at + 2 < bytes.length; ) {
    const type = readLong(bytes, at)
    if (type.value === RECOVERY_POINT) return true
    const size = readLong(bytes, type.end)
    at = size.end + size.value
  }
  return false
}

/** Each byte of 255 goes on with the next one. */
function readLong(bytes: Buffer, from: number): { value: number; end: number } {
  let at = from
  while (bytes[at] === 255) at += 1
  return { value: (at - from) * 255 + (bytes[at] ?? 0), end: at + 1 }
}
