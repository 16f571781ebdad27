import type { LinkTotals } from '../measure/linkMeter.ts'

const RTP_HEAD_BYTES = 12
const VERSION = 2
/** Payload types of RTCP, where it shares a channel with RTP (RFC 5761 section 4). */
const RTCP_TYPES = { from: 64, to: 95 } as const
/** A sender that goes further ahead counts from another number (RFC 3550 appendix A.1). */
const DROPOUT_MAX = 3000

/**
 * Counts the packets that a source numbers and does not send (RFC 3550 section 5.1): those that it gave up, or that were lost on
 * the way to it. What is interleaved with RTSP comes over TCP, which loses nothing itself.
 */
export class SequenceGaps {
  #packets = 0
  #lost = 0
  /** The latest packet of each channel. */
  readonly #latest = new Map<number, { readonly source: number; readonly sequence: number }>()

  get totals(): LinkTotals {
    return { packets: this.#packets, lost: this.#lost }
  }

  /** @param packet with the four bytes of interleaving in front of it (RFC 2326 section 10.12) */
  take(packet: Buffer): void {
    const rtp = packet.subarray(4)
    if (rtp.length < RTP_HEAD_BYTES || rtp.readUInt8(0) >> 6 !== VERSION) return
    const type = rtp.readUInt8(1) & 0x7f
    if (type >= RTCP_TYPES.from && type <= RTCP_TYPES.to) return
    const channel = packet.readUInt8(1)
    const [sequence, source] = [rtp.readUInt16BE(2), rtp.readUInt32BE(8)]
    const before = this.#latest.get(channel)
    const ahead = before?.source === source ? (sequence - before.sequence) & 0xffff : 1
    // One that comes late, or again, was counted when a later one came.
    if (ahead === 0 || ahead > 0xffff - DROPOUT_MAX) return
    const step = ahead > DROPOUT_MAX ? 1 : ahead
    this.#latest.set(channel, { source, sequence })
    this.#packets += step
    this.#lost += step - 1
  }
}
