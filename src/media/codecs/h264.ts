import type { JoinedFrame, VideoReader } from './codec.ts'
import { BitReader } from './bits.ts'
import { videoFrameOf, withEmulation, withoutEmulation } from './h264Config.ts'

/**
 * H.264 over RTP, RFC 6184 with packetization-mode 1: single NAL units, STAP-A and FU-A. Frames consist of NAL units with
 * 4-byte length prefixes, as in MP4.
 */

const NAL_SLICE = 1
const NAL_IDR = 5
const NAL_SEI = 6
const NAL_SPS = 7
const STAP_A = 24
const FU_A = 28

/** The most NAL units in one frame; a hundred slices stay far below it. */
const MAX_NALS = 1024

const typeOf = (nal: Buffer): number => (nal[0] ?? 0) & 31

/** First slice of its picture: first_mb_in_slice, ue(v), is 0, so its first bit is 1 (H.264 section 7.3.3). */
const isFirstSlice = (firstByte: number | undefined): boolean => ((firstByte ?? 0) & 0x80) !== 0

export const h264: VideoReader = {
  isKeyStart(payload) {
    const type = typeOf(payload)
    if (type === STAP_A) return aggregated(payload)?.some(startsKey) === true
    if (type !== FU_A) return startsKey(payload)
    const header = payload[1] ?? 0
    return (header & 0x80) !== 0 && (header & 31) === NAL_IDR && isFirstSlice(payload[2])
  },

  join(payloads) {
    const nals = depacketize(payloads)
    return nals === null || nals.length === 0 ? null : joinNals(nals)
  },
}

const startsKey = (nal: Buffer): boolean => typeOf(nal) === NAL_SPS || (typeOf(nal) === NAL_IDR && isFirstSlice(nal[1]))

function joinNals(nals: readonly Buffer[]): JoinedFrame {
  const key = nals.some((nal) => typeOf(nal) === NAL_IDR)
  return { key, data: lengthPrefixed(nals), format: key ? videoFrameOf(nals) : null }
}

export function lengthPrefixed(nals: readonly Buffer[]): Buffer {
  const parts = nals.flatMap((nal) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(nal.length)
    return [length, nal]
  })
  return Buffer.concat(parts)
}

/** The NAL units of a frame, as views; null when a length runs past the frame or there are too many units. */
export function splitNals(frame: Buffer): Buffer[] | null {
  const nals: Buffer[] = []
  let at = 0
  while (at < frame.length) {
    if (at + 4 > frame.length || nals.length === MAX_NALS) return null
    const end = at + 4 + frame.readUInt32BE(at)
    if (end > frame.length) return null
    if (end > at + 4) nals.push(frame.subarray(at + 4, end))
    at = end
  }
  return nals
}

/**
 * Whether a decoder can begin with a frame: it has an IDR picture or a recovery point (sections 7.4.1.2.4 and D.2.8), or it is
 * marked as a keyframe, and all its slices are intra coded. Encoders set the mark of FLV wrongly, in both directions.
 */
export function isRandomAccess(frame: Buffer, isMarked: boolean): boolean {
  const nals = splitNals(frame) ?? []
  if (nals.some((nal) => typeOf(nal) === NAL_IDR || hasRecoveryPoint(nal))) return true
  const slices = isMarked ? nals.filter((nal) => typeOf(nal) === NAL_SLICE) : []
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
  const at = nals.findIndex((nal) => typeOf(nal) >= NAL_SLICE && typeOf(nal) <= NAL_IDR)
  const before = nals.slice(0, Math.max(at, 0))
  if (at < 0 || before.some((nal) => typeOf(nal) === NAL_SEI && nal.includes(uuid))) return frame
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
  if (typeOf(nal) !== NAL_SEI) return false
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

/** Null when a fragment is missing or mode 1 does not allow the type of a unit. */
function depacketize(payloads: readonly Buffer[]): Buffer[] | null {
  const nals: Buffer[] = []
  let fragments: Buffer[] | null = null
  for (const payload of payloads) {
    const type = typeOf(payload)
    if (type === FU_A) {
      fragments = addFragment(fragments, payload)
      if (fragments === null) return null
      if (((payload[1] ?? 0) & 0x40) === 0) continue
      nals.push(Buffer.concat(fragments))
      fragments = null
    } else {
      const whole = type === STAP_A ? aggregated(payload) : singleUnit(payload)
      if (fragments !== null || whole === null) return null
      nals.push(...whole)
    }
    if (nals.length > MAX_NALS) return null
  }
  return fragments === null ? nals : null
}

const singleUnit = (payload: Buffer): Buffer[] | null =>
  typeOf(payload) > 0 && typeOf(payload) < 24 ? [payload] : null

/** Appends the next fragment to `fragments`; null when it does not follow them (RFC 6184 section 5.8). */
function addFragment(fragments: Buffer[] | null, payload: Buffer): Buffer[] | null {
  if (payload.length < 3) return null
  const [indicator, header] = [payload.readUInt8(0), payload.readUInt8(1)]
  const isStart = (header & 0x80) !== 0
  if (isStart !== (fragments === null)) return null
  const begun = fragments ?? [Buffer.from([(indicator & 0xe0) | (header & 31)])]
  begun.push(payload.subarray(2))
  return begun
}

/** The units of a STAP-A (section 5.7.1); null when it is malformed. */
function aggregated(payload: Buffer): Buffer[] | null {
  const nals: Buffer[] = []
  let at = 1
  while (at + 2 <= payload.length) {
    const end = at + 2 + payload.readUInt16BE(at)
    if (end > payload.length || end === at + 2) return null
    nals.push(payload.subarray(at + 2, end))
    at = end
  }
  return at === payload.length && nals.length > 0 ? nals : null
}

/**
 * Splits a frame into RTP payloads of at most `maxPayload` bytes; the caller sets the marker on the last. Small adjacent
 * units, such as parameter sets, share a packet. Null when the frame does not consist of length-prefixed NAL units.
 */
export function packetizeH264(frame: Buffer, maxPayload: number): Buffer[] | null {
  const nals = splitNals(frame)
  if (nals === null) return null
  const payloads: Buffer[] = []
  let shared: Buffer[] = []
  let sharedSize = 1
  const flush = () => {
    const [only] = shared
    if (only !== undefined) payloads.push(shared.length === 1 ? only : aggregate(shared))
    shared = []
    sharedSize = 1
  }
  for (const nal of nals) {
    if (sharedSize + 2 + nal.length > maxPayload) flush()
    if (nal.length > maxPayload) payloads.push(...fragment(nal, maxPayload))
    else {
      shared.push(nal)
      sharedSize += 2 + nal.length
    }
  }
  flush()
  return payloads
}

function aggregate(nals: readonly Buffer[]): Buffer {
  const importance = Math.max(...nals.map((nal) => (nal[0] ?? 0) & 0x60))
  const parts = nals.flatMap((nal) => [Buffer.from([nal.length >> 8, nal.length & 255]), nal])
  return Buffer.concat([Buffer.from([importance | STAP_A]), ...parts])
}

function fragment(nal: Buffer, maxPayload: number): Buffer[] {
  const header = nal.readUInt8(0)
  const count = Math.ceil((nal.length - 1) / (maxPayload - 2))
  const size = Math.ceil((nal.length - 1) / count)
  return Array.from({ length: count }, (_, index) => {
    const position = (index === 0 ? 0x80 : 0) | (index === count - 1 ? 0x40 : 0)
    const part = nal.subarray(1 + index * size, 1 + (index + 1) * size)
    return Buffer.concat([Buffer.from([(header & 0xe0) | FU_A, position | (header & 31)]), part])
  })
}
