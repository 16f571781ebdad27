import type { Random } from '../../../base/random.ts'
import { isVideoCodec } from '../../codecs/codecs.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import type { ChosenCodec } from '../wire/sdp/choose.ts'
import { DownTrack } from './downTrack.ts'

/** A down track for one m-line of a viewer, with random SSRCs and a random first sequence number (RFC 3550 section 5.1). */
export function newDownTrack(
  { codec, name, rtxPayloadType }: ChosenCodec,
  random: Random,
  transport: RtpSender,
): DownTrack {
  const bytes = random.bytes(10)
  // One is odd and the other even, so that they differ.
  const ssrc = (bytes.readUInt32BE(0) | 1) >>> 0
  const rtxSsrc = (bytes.readUInt32BE(4) & ~1) >>> 0
  const { payloadType } = codec
  return new DownTrack({
    ssrc,
    kind: isVideoCodec(name) ? 'video' : 'audio',
    payloadTypes: new Map([[name, payloadType]]),
    rtx: rtxPayloadType === null ? null : { ssrc: rtxSsrc, payloadTypes: new Map([[payloadType, rtxPayloadType]]) },
    transport,
    firstIndex: bytes.readUInt16BE(8) & 0x7fff,
  })
}
