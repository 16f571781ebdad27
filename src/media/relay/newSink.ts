import type { Random } from '../../base/random.ts'
import type { Peer } from './peer.ts'
import { Sink } from './sink.ts'
import type { ChosenCodec } from './wire/sdp/choose.ts'

/** What sends one media of a viewer, under identifiers of its own. Its peer is made after it, from the answer that names them. */
export function newSink(
  { codec, name, rtxPayloadType }: ChosenCodec,
  random: Random,
  holder: { readonly peer: Peer | null },
): Sink {
  const bytes = random.bytes(10)
  // One is odd and the other even, so that they differ.
  const ssrc = (bytes.readUInt32BE(0) | 1) >>> 0
  const rtxSsrc = (bytes.readUInt32BE(4) & ~1) >>> 0
  const { payloadType } = codec
  return new Sink({
    ssrc,
    kind: name === 'opus' ? 'audio' : 'video',
    payloadTypes: new Map([[name, payloadType]]),
    rtx: rtxPayloadType === null ? null : { ssrc: rtxSsrc, payloadTypes: new Map([[payloadType, rtxPayloadType]]) },
    peer: {
      sendRtp: (head, payload) => holder.peer?.sendRtp(head, payload),
      get native() {
        return holder.peer?.native ?? null
      },
    },
    firstIndex: bytes.readUInt16BE(8) & 0x7fff,
  })
}
