import { applyCounter, counterIv, rtcpNonce, rtpNonce, sealGcm, tagOf } from './cipher.ts'
import { deriveKeys, type MasterKeys, type SessionKeys } from './keys.ts'
import { SEQUENCES } from './packetIndex.ts'
import { type RtpFields, writeRtpHeader } from '../wire/rtp.ts'

/** The fields of an RTP header without extensions. */
export interface RtpHead extends Omit<RtpFields, 'sequence'> {
  /** Sequence number with its roll-over count in front, 48 bits. It is a nonce: never use one for two contents. */
  readonly index: number
}

const HEADER = 12

/** Encrypts what we send to one peer. It keeps no state for RTP, so a retransmission is sealed like any other packet. */
export class SrtpWriter {
  readonly #rtp: SessionKeys
  readonly #rtcp: SessionKeys
  #rtcpIndex = 0

  constructor(master: MasterKeys) {
    this.#rtp = deriveKeys(master, 'rtp')
    this.#rtcp = deriveKeys(master, 'rtcp')
  }

  /** One SRTP packet (RFC 3711 section 3.1, RFC 7714 section 8). */
  rtp(head: RtpHead, payload: Uint8Array): Buffer {
    const { tagBytes, name } = this.#rtp.profile
    const packet = Buffer.allocUnsafe(HEADER + payload.length + tagBytes)
    const rollovers = Math.floor(head.index / SEQUENCES)
    const sequence = head.index % SEQUENCES
    writeRtpHeader(packet, head, sequence)
    if (name === 'AEAD_AES_128_GCM') {
      const nonce = rtpNonce(this.#rtp, head.ssrc, rollovers, sequence)
      const { body, tag } = sealGcm(this.#rtp, nonce, packet.subarray(0, HEADER), payload)
      packet.set(body, HEADER)
      packet.set(tag, HEADER + body.length)
      return packet
    }
    const end = HEADER + payload.length
    applyCounter(this.#rtp, counterIv(this.#rtp, head.ssrc, rollovers, sequence), payload).copy(packet, HEADER)
    // The roll-over count is authenticated behind the packet; until then it is in the place of the tag.
    packet.writeUInt32BE(rollovers, end)
    tagOf(this.#rtp, packet.subarray(0, end + 4)).copy(packet, end)
    return packet
  }

  /** One SRTCP packet out of a plain compound packet (RFC 3711 section 3.4, RFC 7714 section 9). */
  rtcp(plain: Buffer): Buffer {
    this.#rtcpIndex = (this.#rtcpIndex + 1) % 0x80000000
    const index = this.#rtcpIndex
    const ssrc = plain.readUInt32BE(4)
    const head = plain.subarray(0, 8)
    const trailer = Buffer.alloc(4)
    trailer.writeUInt32BE((index | 0x80000000) >>> 0)
    if (this.#rtcp.profile.name === 'AEAD_AES_128_GCM') {
      const aad = Buffer.concat([head, trailer])
      const { body, tag } = sealGcm(this.#rtcp, rtcpNonce(this.#rtcp, ssrc, index), aad, plain.subarray(8))
      return Buffer.concat([head, body, tag, trailer])
    }
    const iv = counterIv(this.#rtcp, ssrc, Math.floor(index / SEQUENCES), index % SEQUENCES)
    const body = applyCounter(this.#rtcp, iv, plain.subarray(8))
    return Buffer.concat([head, body, trailer, tagOf(this.#rtcp, head, body, trailer)])
  }
}
