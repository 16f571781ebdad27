import { headerBytes } from '../wire/rtp.ts'
import { applyCounter, counterIv, isTag, openGcm, rtcpNonce, rtpNonce, tagOf } from './cipher.ts'
import { deriveKeys, type MasterKeys, type SessionKeys } from './keys.ts'
import { estimateIndex, ReplayWindow, SEQUENCES } from './packetIndex.ts'

/** An authentic RTP packet, decrypted. */
export interface OpenedRtp {
  /** The whole packet: header as it came, payload decrypted. */
  readonly packet: Buffer
  /** Sequence number with its roll-over count in front: grows by one from packet to packet, never wraps. */
  readonly index: number
}

/** Opens RTP packets with the keys of one peer, faster than `node:crypto`. */
export interface RtpOpener {
  /** Returns whether the packet is authentic. If so, the bytes after the first `clear`, up to the tag, are decrypted in place. */
  open(sealed: Buffer, clear: number, ssrc: number, index: number): boolean
  close(): void
}

/** A publisher with three simulcast layers, their RTX and audio has seven streams; no honest peer has more than this. */
const MAX_STREAMS = 32

/** Opens the packets of one peer: checks that each is authentic and not a replay. */
export class SrtpReader {
  readonly #rtp: SessionKeys
  readonly #rtcp: SessionKeys
  readonly #rtpSeen = new Map<number, ReplayWindow>()
  readonly #rtcpSeen = new Map<number, ReplayWindow>()

  readonly #opener: RtpOpener | null

  constructor(master: MasterKeys, opener: RtpOpener | null = null) {
    this.#opener = opener
    this.#rtp = deriveKeys(master, 'rtp')
    this.#rtcp = deriveKeys(master, 'rtcp')
  }

  /**
   * Undefined: not authentic, a replay, or no RTP packet. `sealed` is decrypted in place, and the result is a view of it.
   */
  rtp(sealed: Buffer): OpenedRtp | undefined {
    const index = this.unsealRtp(sealed)
    return index === null
      ? undefined
      : { packet: sealed.subarray(0, sealed.length - this.#rtp.profile.tagBytes), index }
  }

  /** Decrypts a packet in place, up to its tag. Returns its index; null as for `rtp`. */
  unsealRtp(sealed: Buffer): number | null {
    const clear = headerBytes(sealed)
    if (clear === null || sealed.length < clear + this.#rtp.profile.tagBytes) return null
    const ssrc = sealed.readUInt32BE(8)
    const seen = streamOf(this.#rtpSeen, ssrc)
    if (seen === undefined) return null
    const index = estimateIndex(seen.highest, sealed.readUInt16BE(2))
    if (!seen.isFresh(index) || !this.#openRtp(sealed, clear, ssrc, index)) return null
    if (seen.highest < 0) this.#rtpSeen.set(ssrc, seen)
    seen.take(index)
    return index
  }

  /** The decrypted compound packet; undefined when it is not authentic or a replay. */
  rtcp(sealed: Buffer): Buffer | undefined {
    const { tagBytes, name } = this.#rtcp.profile
    if (sealed.length < 8 + 4 + tagBytes) return undefined
    const ssrc = sealed.readUInt32BE(4)
    const trailerAt = name === 'AEAD_AES_128_GCM' ? sealed.length - 4 : sealed.length - 4 - tagBytes
    const trailer = sealed.readUInt32BE(trailerAt)
    // All our peers encrypt. A packet that claims not to be encrypted is not from one of them.
    if (trailer < 0x80000000) return undefined
    const index = trailer - 0x80000000
    const seen = streamOf(this.#rtcpSeen, ssrc)
    if (seen?.isFresh(index) !== true) return undefined
    const body = this.#openRtcp(sealed, trailerAt, ssrc, index)
    if (body === undefined) return undefined
    seen.take(index)
    this.#rtcpSeen.set(ssrc, seen)
    return Buffer.concat([sealed.subarray(0, 8), body])
  }

  /** Decrypts in place; false when it is not authentic. */
  #openRtp(sealed: Buffer, clear: number, ssrc: number, index: number): boolean {
    if (this.#opener !== null) return this.#opener.open(sealed, clear, ssrc, index)
    const payload = this.#decryptRtp(sealed, clear, ssrc, index)
    if (payload !== undefined) sealed.set(payload, clear)
    return payload !== undefined
  }

  #decryptRtp(sealed: Buffer, clear: number, ssrc: number, index: number): Buffer | undefined {
    const keys = this.#rtp
    const rollovers = Math.floor(index / SEQUENCES)
    const sequence = index % SEQUENCES
    if (keys.profile.name === 'AEAD_AES_128_GCM') {
      const nonce = rtpNonce(keys, ssrc, rollovers, sequence)
      return openGcm(keys, nonce, sealed.subarray(0, clear), sealed.subarray(clear))
    }
    const tagAt = sealed.length - keys.profile.tagBytes
    const count = Buffer.alloc(4)
    count.writeUInt32BE(rollovers)
    if (!isTag(sealed.subarray(tagAt), tagOf(keys, sealed.subarray(0, tagAt), count))) return undefined
    return applyCounter(keys, counterIv(keys, ssrc, rollovers, sequence), sealed.subarray(clear, tagAt))
  }

  #openRtcp(sealed: Buffer, trailerAt: number, ssrc: number, index: number): Buffer | undefined {
    const keys = this.#rtcp
    if (keys.profile.name === 'AEAD_AES_128_GCM') {
      const aad = Buffer.concat([sealed.subarray(0, 8), sealed.subarray(trailerAt)])
      return openGcm(keys, rtcpNonce(keys, ssrc, index), aad, sealed.subarray(8, trailerAt))
    }
    if (!isTag(sealed.subarray(trailerAt + 4), tagOf(keys, sealed.subarray(0, trailerAt + 4)))) return undefined
    const iv = counterIv(keys, ssrc, Math.floor(index / SEQUENCES), index % SEQUENCES)
    return applyCounter(keys, iv, sealed.subarray(8, trailerAt))
  }
}

/** The window of a stream; the caller keeps a new one once a packet has proved to be authentic. */
function streamOf(all: ReadonlyMap<number, ReplayWindow>, ssrc: number): ReplayWindow | undefined {
  return all.get(ssrc) ?? (all.size < MAX_STREAMS ? new ReplayWindow() : undefined)
}
