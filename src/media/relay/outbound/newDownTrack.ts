import type { Random } from '../../../base/random.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { DownTrack } from './downTrack.ts'
import type { ChosenCodec } from '../wire/sdp/choose.ts'

/** What sends one media of a viewer, under identifiers of its own. Its peer is made after it, from the answer that names them. */
export function newDownTrack(
  { codec, name, rtxPayloadType }: ChosenCodec,
  random: Random,
  holder: { readonly transport: WebRtcTransport | null },
): DownTrack {
  const bytes = random.bytes(10)
  // One is odd and the other even, so that they differ.
  const ssrc = (bytes.readUInt32BE(0) | 1) >>> 0
  const rtxSsrc = (bytes.readUInt32BE(4) & ~1) >>> 0
  const { payloadType } = codec
  return new DownTrack({
    ssrc,
    kind: name === 'opus' ? 'audio' : 'video',
    payloadTypes: new Map([[name, payloadType]]),
    rtx: rtxPayloadType === null ? null : { ssrc: rtxSsrc, payloadTypes: new Map([[payloadType, rtxPayloadType]]) },
    transport: {
      sendRtp: (head, payload) => holder.transport?.sendRtp(head, payload),
      get native() {
        return holder.transport?.native ?? null
      },
    },
    firstIndex: bytes.readUInt16BE(8) & 0x7fff,
  })
}
