import { packetizeAv1 } from './av1.ts'
import type { VideoCodec } from './codecs.ts'
import { H264_PAYLOADS } from './h264.ts'
import { NAL_SPS } from './h264Config.ts'
import { SPS } from './hevc.ts'
import { HEVC_PAYLOADS } from './hevcRtp.ts'
import { type NalPayloads, packetizeNals, splitNals } from './nalUnits.ts'
import { parameterSetsOf } from './wholeFrame.ts'

/**
 * Splits a frame, in the format of `Frame.data`, into RTP payloads; the caller sets the marker on the last. Null: the frame is
 * malformed.
 */
export type Packetizer = (frame: Buffer, key: boolean) => Buffer[] | null

/**
 * @param config as in `VideoTrack`
 * @param maxPayload bytes
 */
export function packetizer(codec: VideoCodec, config: Buffer, maxPayload: number): Packetizer {
  switch (codec) {
    case 'h264':
      return nalPacketizer(parameterSetsOf(codec, config), NAL_SPS, H264_PAYLOADS, maxPayload)
    case 'hevc':
      return nalPacketizer(parameterSetsOf(codec, config), SPS, HEVC_PAYLOADS, maxPayload)
    case 'av1':
      return (frame, key) => packetizeAv1(frame, key, maxPayload)
    case 'vp9':
      return (frame, key) => withDescriptors(frame, maxPayload, (at) => vp9Descriptor(key, at))
    case 'vp8':
      return (frame) => withDescriptors(frame, maxPayload, ({ isFirst }) => (isFirst ? VP8_START : 0))
  }
}

/** Puts the parameter sets in front of a keyframe without them: a decoder starts there. */
function nalPacketizer(sets: readonly Buffer[], sps: number, form: NalPayloads, maxPayload: number): Packetizer {
  return (frame, key) => {
    const nals = splitNals(frame)
    if (nals === null) return null
    const hasOwn = !key || nals.some((nal) => form.typeOf(nal) === sps)
    return packetizeNals(hasOwn ? nals : [...sets, ...nals], maxPayload, form)
  }
}

interface PartOfFrame {
  readonly isFirst: boolean
  readonly isLast: boolean
}

/** RFC 7741 section 4.2: the start of partition 0, and nothing that is optional. */
const VP8_START = 0x10

/** RFC 9628 section 4.2: P, B and E, and nothing that is optional. */
const vp9Descriptor = (key: boolean, { isFirst, isLast }: PartOfFrame): number =>
  (key ? 0 : 0x40) | (isFirst ? 0x08 : 0) | (isLast ? 0x04 : 0)

/** Parts of about the same size, each behind a descriptor of one byte. */
function withDescriptors(frame: Buffer, maxPayload: number, descriptor: (part: PartOfFrame) => number): Buffer[] {
  const count = Math.ceil(frame.length / (maxPayload - 1))
  const size = Math.ceil(frame.length / count)
  return Array.from({ length: count }, (_, at) => {
    const head = descriptor({ isFirst: at === 0, isLast: at === count - 1 })
    return Buffer.concat([Buffer.from([head]), frame.subarray(at * size, (at + 1) * size)])
  })
}
