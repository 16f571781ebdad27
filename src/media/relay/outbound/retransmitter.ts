import { type FanoutTarget, headFor } from '../forward/fanout.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import { Allowance } from '../../../base/allowance.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import { sequenceDistance } from '../wire/rtp.ts'
import { ResendBudget } from './resendBudget.ts'

/** A retransmission stream (RFC 4588): its SSRC, and its payload type for each payload type that it retransmits. */
export interface RtxStream {
  readonly ssrc: number
  readonly payloadTypes: ReadonlyMap<number, number>
}

/** The part of a viewer's stream that comes from one track. */
export interface TimelineSegment {
  readonly track: RtpTrack
  readonly target: FanoutTarget
}

export interface RetransmitterOptions {
  /** Null: retransmissions go on the media's own SSRC. */
  readonly rtx: RtxStream | null
  readonly transport: RtpSender
  readonly firstIndex: number
}

/** Above this loss, retransmissions are lost so often that two copies are worth their cost. */
const LOSSY = 0.04

/** How many copies of a lost packet to send at a loss of 0 to 1. */
export const copiesAt = (loss: number): 1 | 2 => (loss > LOSSY ? 2 : 1)

/** A small packet costs us no less than one of this size, whether it is sent or retransmitted. */
const LEAST_COST = 500
/** Sequence numbers that are looked up for one viewer: all packets that a track keeps, four times a second. */
const LOOK_UPS = { burst: 4096, perSecond: 8192 }

/** How a peer gets what it has lost. */
export interface Resends {
  /** Of each packet, as long as the budget has plenty. */
  readonly copies: 1 | 2
  /** A packet does not leave again sooner. Milliseconds. */
  readonly intervalMs: number
}

/** Of a viewer: a packet is not retransmitted again before the last copy can have arrived. */
const OF_VIEWERS: Resends = { copies: 1, intervalMs: 30 }
/** Bytes around a payload: the headers of IP, UDP and RTP, and the SRTP tag. */
const OVERHEAD = 64
/** Padding packets at a time. */
const MAX_PADDING = 50

/** Retransmits what one viewer lost (NACK), and pads its stream for bandwidth probes. */
export class Retransmitter {
  readonly #options: RetransmitterOptions
  readonly #budget = new ResendBudget()
  readonly #lookUps = new Allowance(LOOK_UPS)
  /** When packets left again, within the last interval: by index, the oldest first. */
  readonly #resentAtMs = new Map<number, number>()
  #rtxIndex: number
  #resends = OF_VIEWERS

  constructor(options: RetransmitterOptions) {
    this.#options = options
    this.#rtxIndex = options.firstIndex
  }

  /** The media that the viewer was sent so far pays for retransmissions. Call it several times a second. */
  earn({ packets, octets }: { readonly packets: number; readonly octets: number }, nowMs: number): void {
    this.#budget.earn(Math.max(octets + packets * OVERHEAD, packets * LEAST_COST), nowMs)
  }

  /** A browser repeats its NACK after 100 ms only, and its video freezes so long: where much is lost, two copies are better. */
  repeat(resends: Partial<Resends>): void {
    this.#resends = { ...this.#resends, ...resends, ...(this.#options.rtx === null && { copies: 1 }) }
  }

  /**
   * Retransmits `sequences`, as far as the track still has them and the budget lasts. Packets from before the segment are not
   * retransmitted: it begins on a keyframe and needs none of them. `nextIndex`: the first index that is not sent yet.
   */
  resend(sequences: readonly number[], segment: TimelineSegment | null, nextIndex: number, nowMs: number): void {
    this.#forget(nowMs)
    for (const sequence of sequences) {
      if (!this.#budget.isLeft || !this.#lookUps.take(nowMs)) return
      const index = nextIndex - 1 + sequenceDistance(sequence, (nextIndex - 1) & 0xffff)
      // An index that is not sent yet may still become the number of another packet.
      if (index >= nextIndex || this.#resentAtMs.has(index)) continue
      const bytes = this.#resendOne(index, segment)
      if (bytes === 0) continue
      const copies = this.#budget.isPlenty ? this.#resends.copies : 1
      this.#budget.spend(Math.max(bytes, LEAST_COST) * copies)
      if (copies > 1) this.#resendOne(index, segment)
      this.#resentAtMs.set(index, nowMs)
    }
  }

  /** Packets that may leave once more. */
  #forget(nowMs: number): void {
    for (const [index, atMs] of this.#resentAtMs) {
      if (nowMs - atMs < this.#resends.intervalMs) return
      this.#resentAtMs.delete(index)
    }
  }

  /**
   * Sends about `bytes` of padding: the packet `index` again and again as RTX, which the viewer discards. Returns the bytes
   * sent; 0 without RTX.
   */
  pad(bytes: number, segment: TimelineSegment, index: number): number {
    let sent = 0
    if (this.#options.rtx === null) return sent
    for (let copy = 0; copy < MAX_PADDING && sent < bytes; copy++) sent += this.#resendOne(index, segment)
    return sent
  }

  /** Returns the bytes sent; 0 when the track does not have the packet any more. */
  #resendOne(index: number, segment: TimelineSegment | null): number {
    if (segment === null || index < segment.target.firstIndex + segment.target.indexOffset) return 0
    const packet = segment.track.packet(index - segment.target.indexOffset)
    if (packet === undefined) return 0
    const head = headFor(segment.target, packet)
    const { rtx, transport } = this.#options
    const rtxType = rtx?.payloadTypes.get(head.payloadType)
    if (rtx === null || rtxType === undefined) {
      transport.sendRtp(head, packet.payload)
    } else {
      const sequence = Buffer.from([(index >> 8) & 255, index & 255])
      const payload = Buffer.concat([sequence, packet.payload])
      transport.sendRtp({ ...head, ssrc: rtx.ssrc, payloadType: rtxType, index: this.#rtxIndex++ }, payload)
    }
    return packet.payload.length + OVERHEAD
  }
}
