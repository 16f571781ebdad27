import type { Random } from '../../../base/random.ts'
import { isVideoCodec } from '../../codecs/codecs.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import type { ChosenCodec } from '../wire/sdp/choose.ts'
import { DownTrack } from './downTrack.ts'

/** The numbers of what one m-line sends. */
export interface RtpNumbers {
  readonly ssrc: number
  readonly rtxSsrc: number
  /** Below 2^15. */
  readonly firstIndex: number
}

/** Random SSRCs and a random first sequence number (RFC 3550 section 5.1). */
export function newRtpNumbers(random: Random): RtpNumbers {
  const bytes = random.bytes(10)
  return {
    // One is odd and the other even, so that they differ.
    ssrc: (bytes.readUInt32BE(0) | 1) >>> 0,
    rtxSsrc: (bytes.readUInt32BE(4) & ~1) >>> 0,
    firstIndex: bytes.readUInt16BE(8) & 0x7fff,
  }
}

/** A down track for one m-line of a peer. */
export function newDownTrack(
  { codec, name, rtxPayloadType }: ChosenCodec,
  { ssrc, rtxSsrc, firstIndex }: RtpNumbers,
  transport: RtpSender,
): DownTrack {
  const { payloadType } = codec
  return new DownTrack({
    ssrc,
    kind: isVideoCodec(name) ? 'video' : 'audio',
    payloadTypes: new Map([[name, payloadType]]),
    rtx: rtxPayloadType === null ? null : { ssrc: rtxSsrc, payloadTypes: new Map([[payloadType, rtxPayloadType]]) },
    transport,
    firstIndex,
  })
}
