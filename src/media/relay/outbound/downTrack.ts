import type { AudioCodec, VideoCodec } from '../../frame.ts'
import { Allowance } from '../transport/allowance.ts'
import { headFor, type FanoutTarget } from '../forward/fanout.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import type { MediaPacket } from '../forward/packet.ts'
import { ResendBudget } from './resendBudget.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import { ntpOf } from '../wire/ntp.ts'
import type { SenderReport } from '../wire/rtcp.ts'
import { sequenceDistance, timestampDistance } from '../wire/rtp.ts'

/** What a viewer agreed to receive on one of its m-lines. */
export interface DownTrackOptions {
  readonly ssrc: number
  readonly kind: 'video' | 'audio'
  /** The payload type of each codec that the viewer takes. */
  readonly payloadTypes: ReadonlyMap<VideoCodec | AudioCodec, number>
  /** Retransmissions of their own (RFC 4588), by the payload type of what is retransmitted. */
  readonly rtx: { readonly ssrc: number; readonly payloadTypes: ReadonlyMap<number, number> } | null
  readonly transport: RtpSender
  /** Below 2^15, so that no early loss can hide the first wrap from the receiver (RFC 3711 section 3.3.1). */
  readonly firstIndex: number
}

/** A stretch of a viewer's stream that comes from one track. */
interface TimelineSegment {
  readonly track: RtpTrack
  readonly target: FanoutTarget
}

/** A small packet costs us no less than one of this size, whether it is sent or sent again. */
const LEAST_COST = 500
/** Sequence numbers that are looked up for one viewer: all that a track keeps, four times a second. */
const LOOK_UPS = { burst: 4096, perSecond: 8192 }
/** A packet is not sent again before the last copy can have arrived. */
const RESEND_INTERVAL_MS = 30
const MAX_REMEMBERED = 4096
/** Of a packet on its way: the headers of IP, UDP and RTP and the seal of SRTP. */
const OVERHEAD = 64
/** Packets at a time that are only there to fill the way. */
const MAX_PADDING = 50
/** Of the packets since a keyframe so many are sent at a time, and after so long all of them, for sources that are faster. */
const CATCH_UP_PACKETS = 60
const CATCH_UP_MS = 1000
/** A keyframe that is at most this old is worth more than a new one that must first be asked for. */
const FRESH_KEYFRAME_MS = 1000

/** One medium on its way to one viewer: continuous for the viewer, whatever track it comes from. */
export class DownTrack {
  readonly options: DownTrackOptions
  /** The latest: what is shown, unless `#isShowing` says that nothing is. */
  #segment: TimelineSegment | null = null
  #isShowing = false
  /** Where it is in the packets since the keyframe that it began with; the track's fan-out goes on from their end. */
  #catchUp: { nextIndex: number; readonly untilMs: number } | null = null
  #waitingFor: RtpTrack | null = null
  #stopWaiting = (): void => undefined
  #nextIndex: number
  #lastTimestamp: number | null = null
  #packets = 0
  #octets = 0
  #rtxIndex: number
  #copies = 1
  readonly #budget = new ResendBudget()
  readonly #lookUps = new Allowance(LOOK_UPS)
  readonly #resentAtMs = new Map<number, number>()

  constructor(options: DownTrackOptions) {
    this.options = options
    this.#nextIndex = options.firstIndex
    this.#rtxIndex = options.firstIndex
  }

  /** The track it shows; null while it shows none. */
  get track(): RtpTrack | null {
    return this.#isShowing ? (this.#segment?.track ?? null) : null
  }

  /** The track that it is about to show instead; null: none. */
  get waitsFor(): RtpTrack | null {
    return this.#waitingFor
  }

  /** Whether the viewer agreed to the codec of a track. */
  takes(track: RtpTrack): boolean {
    return this.options.payloadTypes.has(track.shape.codec)
  }

  /**
   * Shows `track` from a keyframe on, and what it showed before until then. Says whether the viewer can take it at all. Where
   * nothing is shown yet it begins at once with the packets since a recent keyframe; who switches would see that time twice,
   * and takes them only where no keyframe can be asked for.
   */
  attach(track: RtpTrack, nowMs: number): boolean {
    if (!this.takes(track)) return false
    if (track === this.#waitingFor) return true
    this.#wait(null)
    if (track === this.track) return true
    const isFresh = this.track === null && track.keyAgeMs(nowMs) <= FRESH_KEYFRAME_MS
    const isCacheBest = isFresh || !track.isAskable
    const cached = isCacheBest ? track.sinceKeyframe() : []
    const [first] = cached
    if (first === undefined) {
      this.#wait(track)
      track.requestKeyframe(nowMs)
    } else {
      this.#begin(track, first, nowMs)
      this.#catchUp = { nextIndex: first.index, untilMs: nowMs + CATCH_UP_MS }
      this.pace(nowMs)
    }
    return true
  }

  /** Call it every few hundredths of a second: sends on what was too much to be sent at once when it began. */
  pace(nowMs: number): void {
    const [segment, catchUp] = [this.#segment, this.#catchUp]
    if (segment === null || catchUp === null) return
    const last = segment.track.last?.index ?? -1
    let left = nowMs < catchUp.untilMs ? CATCH_UP_PACKETS : last
    for (; left > 0 && catchUp.nextIndex <= last; catchUp.nextIndex++) {
      const packet = segment.track.packet(catchUp.nextIndex)
      if (packet === undefined) continue
      this.#send(packet)
      left -= 1
    }
    if (catchUp.nextIndex <= last) return
    this.#catchUp = null
    segment.track.fanout.add(segment.target)
  }

  /** Shows nothing from now on; a later `attach` goes on without a jump. */
  detach(): void {
    this.#wait(null)
    this.#leave()
  }

  /** The viewer lost a keyframe, or never got one. */
  requestKeyframe(nowMs: number): void {
    this.#waitingFor?.requestKeyframe(nowMs)
    this.track?.requestKeyframe(nowMs)
  }

  /** Call it several times a second. */
  tick(nowMs: number): void {
    const bytes = Math.max(this.#octets + this.#packets * OVERHEAD, this.#packets * LEAST_COST)
    this.#budget.earn(bytes, nowMs)
  }

  /** How often what is asked for is sent: a browser asks again after a tenth of a second, in which its picture stands. */
  repeatResends(copies: 1 | 2): void {
    this.#copies = this.options.rtx === null ? 1 : copies
  }

  /**
   * Sends again what the viewer misses, as far as it is still there and what the viewer is sent pays for it; nothing from
   * before the last switch, which began on a keyframe and needs none of it.
   */
  resend(sequences: readonly number[], nowMs: number): void {
    this.tick(nowMs)
    if (this.#resentAtMs.size > MAX_REMEMBERED) this.#resentAtMs.clear()
    for (const sequence of sequences) {
      if (!this.#budget.isLeft || !this.#lookUps.take(nowMs)) return
      const index = this.#nextIndex - 1 + sequenceDistance(sequence, (this.#nextIndex - 1) & 0xffff)
      // What was not sent yet has no content yet: its number may still become that of another packet.
      if (index >= this.#nextIndex) continue
      if (nowMs - (this.#resentAtMs.get(index) ?? Number.NEGATIVE_INFINITY) < RESEND_INTERVAL_MS) continue
      const bytes = this.#resendOne(index)
      if (bytes === 0) continue
      this.#budget.spend(Math.max(bytes, LEAST_COST) * this.#copies)
      if (this.#copies > 1) this.#resendOne(index)
      this.#resentAtMs.set(index, nowMs)
    }
  }

  /**
   * Sends about so many bytes that the viewer does not need, to see whether they get through: its latest packet over and over,
   * as retransmissions, which it throws away. Returns how many; none where those were not agreed.
   */
  pad(bytes: number): number {
    let sent = 0
    if (this.options.rtx === null || !this.#isShowing) return sent
    for (let copy = 0; copy < MAX_PADDING && sent < bytes; copy++) sent += this.#resendOne(this.#nextIndex - 1)
    return sent
  }

  /** What a sender report says now; null while nothing is shown. */
  report(nowMs: number): SenderReport | null {
    const segment = this.#segment
    const timestamp = segment?.track.timeline.timestampAt(nowMs)
    if (!this.#isShowing || segment === null || timestamp === null || timestamp === undefined) return null
    return {
      ssrc: this.options.ssrc,
      ...ntpOf(nowMs),
      rtpTimestamp: (timestamp + segment.target.timestampOffset) >>> 0,
      packetCount: this.#packets >>> 0,
      octetCount: this.#octets >>> 0,
    }
  }

  #wait(track: RtpTrack | null): void {
    this.#stopWaiting()
    this.#waitingFor = track
    this.#stopWaiting =
      track?.listen((packet, nowMs) => {
        if (!packet.isKeyStart) return
        this.#wait(null)
        this.#begin(track, packet, nowMs)
        this.#segment?.track.fanout.add(this.#segment.target)
        this.#send(packet)
      }) ?? (() => undefined)
  }

  /** From `first` on the stream comes from `track`, with the next free index and the time that it would be anyway. */
  #begin(track: RtpTrack, first: MediaPacket, nowMs: number): void {
    const timestampOffset = this.#timestampOffset(track, first, nowMs)
    this.#leave()
    const target: FanoutTarget = {
      ssrc: this.options.ssrc,
      payloadType: this.options.payloadTypes.get(track.shape.codec) ?? 0,
      indexOffset: this.#nextIndex - first.index,
      timestampOffset,
      firstIndex: first.index,
      transport: this.options.transport,
      sent: (packet) => this.#sent(packet, target),
    }
    this.#segment = { track, target }
    this.#isShowing = true
  }

  #leave(): void {
    if (this.#isShowing && this.#catchUp === null) this.#segment?.track.fanout.remove(this.#segment.target)
    this.#catchUp = null
    this.#isShowing = false
  }

  /** Both tracks know their RTP time by our clock, so the viewer's goes on as fast as time did. */
  #timestampOffset(track: RtpTrack, first: MediaPacket, nowMs: number): number {
    const before = this.#segment
    if (before === null || this.#lastTimestamp === null) return 0
    const now = before.track.timeline.timestampAt(nowMs) ?? this.#lastTimestamp - before.target.timestampOffset
    const offset = now + before.target.timestampOffset - (track.timeline.timestampAt(nowMs) ?? first.timestamp)
    const isBackwards = timestampDistance(first.timestamp + offset, this.#lastTimestamp) <= 0
    return (isBackwards ? this.#lastTimestamp + 1 - first.timestamp : offset) >>> 0
  }

  /** Sends a packet to this viewer alone: the fan-out had its turn. */
  #send(packet: MediaPacket): void {
    const target = this.#segment?.target
    if (target === undefined) return
    target.transport.sendRtp(headFor(target, packet), packet.payload)
    target.sent(packet)
  }

  #sent(packet: MediaPacket, target: FanoutTarget): void {
    this.#packets += 1
    this.#octets += packet.payload.length
    const index = packet.index + target.indexOffset
    if (index < this.#nextIndex) return
    this.#nextIndex = index + 1
    this.#lastTimestamp = (packet.timestamp + target.timestampOffset) >>> 0
  }

  /** Returns the bytes that were sent; 0 when it is not there any more. */
  #resendOne(index: number): number {
    const segment = this.#segment
    if (segment === null || index < segment.target.firstIndex + segment.target.indexOffset) return 0
    const packet = segment.track.packet(index - segment.target.indexOffset)
    if (packet === undefined) return 0
    const head = headFor(segment.target, packet)
    const { rtx, transport: peer } = this.options
    const rtxType = rtx?.payloadTypes.get(head.payloadType)
    if (rtx === null || rtxType === undefined) {
      peer.sendRtp(head, packet.payload)
    } else {
      const sequence = Buffer.from([(index >> 8) & 255, index & 255])
      const payload = Buffer.concat([sequence, packet.payload])
      peer.sendRtp({ ...head, ssrc: rtx.ssrc, payloadType: rtxType, index: this.#rtxIndex++ }, payload)
    }
    return packet.payload.length + OVERHEAD
  }
}
