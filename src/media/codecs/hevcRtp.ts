import type { VideoReader } from './codec.ts'
import { hevcFormatOf, hevcType, isHevcParameterSet, isIrap, SPS, VPS } from './hevc.ts'
import { aggregated, depacketize, lengthPrefixed, type NalPayloads } from './nalUnits.ts'

/** H.265 over RTP as WebRTC uses it: RFC 7798 in one stream, whose packets come in decoding order. */

const AGGREGATION = 48
const FRAGMENT = 49

export const HEVC_PAYLOADS: NalPayloads = {
  headerBytes: 2,
  aggregation: AGGREGATION,
  fragment: FRAGMENT,
  typeBits: 63,
  typeOf: hevcType,
  isUnit: (type) => type < AGGREGATION,
  withType: (nal, type) => Buffer.from([((nal[0] ?? 0) & 0x81) | (type << 1), nal[1] ?? 0]),
  // The lowest layer, which is always 0, and the lowest temporal id (section 4.4.2).
  aggregationHeader: (nals) => Buffer.from([AGGREGATION << 1, Math.min(...nals.map((nal) => (nal[1] ?? 0) & 7))]),
}

export const hevc: VideoReader = {
  isKeyStart(payload) {
    const type = hevcType(payload)
    if (type === AGGREGATION) return aggregated(payload, HEVC_PAYLOADS)?.some(startsKey) === true
    if (type !== FRAGMENT) return startsKey(payload)
    const header = payload[2] ?? 0
    return (header & 0x80) !== 0 && isIrap(header & 63) && isFirstSlice(payload[3])
  },

  /** Frames repeat no parameter sets, because the sample entry `hvc1` of MP4 has them. */
  join(payloads) {
    const nals = depacketize(payloads, HEVC_PAYLOADS)
    const data = lengthPrefixed((nals ?? []).filter((nal) => !isHevcParameterSet(nal)))
    if (nals === null || data.length === 0) return null
    const key = nals.some((nal) => isIrap(hevcType(nal)))
    return { key, data, format: key ? hevcFormatOf(nals) : null }
  },
}

/** first_slice_segment_in_pic_flag is the first bit of a slice (H.265 section 7.3.6.1). */
const isFirstSlice = (firstByte: number | undefined): boolean => ((firstByte ?? 0) & 0x80) !== 0

function startsKey(nal: Buffer): boolean {
  const type = hevcType(nal)
  return type === VPS || type === SPS || (isIrap(type) && isFirstSlice(nal[2]))
}
