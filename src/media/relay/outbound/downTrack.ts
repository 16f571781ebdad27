import { LaterFault } from '../../../base/walls.ts'
import type { RtpCodec } from '../../codecs/codecs.ts'
import { type FanoutTarget, headFor } from '../forward/fanout.ts'
import type { MediaPacket } from '../forward/packet.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import { ntpOf } from '../wire/ntp.ts'
import type { SenderReport } from '../wire/rtcp/rtcp.ts'
import { timestampDistance } from '../wire/rtp.ts'
import { type Resends, Retransmitter, type RtxStream, type TimelineSegment } from './retransmitter.ts'

/** What a viewer negotiated on one of its m-lines. */
export interface DownTrackOptions {
  readonly ssrc: number
  readonly kind: 'video' | 'audio'
  /** The payload type of each codec that the viewer accepts. */
  readonly payloadTypes: ReadonlyMap<RtpCodec, number>
  /** Null: the viewer negotiated no RTX. */
  readonly rtx: RtxStream | null
  readonly transport: RtpSender
  /** See `FanoutTarget.isFirst`. */
  readonly isFirst?: boolean
  /** Below 2^15, so that no early loss can hide the first wrap from the receiver (RFC 3711 section 3.3.1). */
  readonly firstIndex: number
}

/** A catch-up sends this many packets at a time; after `CATCH_UP_MS` it sends all that is left, for sources that are faster. */
const CATCH_UP_PACKETS = 60
const CATCH_UP_MS = 1000
/** A keyframe that is at most this old is better than a new one, which the publisher would have to send first. */
const FRESH_KEYFRAME_MS = 1000

/** One outgoing track of one viewer: continuous sequence numbers and timestamps, whichever track the packets come from. */
export class DownTrack {
  readonly options: DownTrackOptions
  /** The latest segment. It is forwarded while `#isForwarding`. */
  #segment: TimelineSegment | null = null
  #isForwarding = false
  /** Progress through the cached packets since the first keyframe; after them the track's fan-out takes over. */
  #catchUp: { nextIndex: number; readonly untilMs: number } | null = null
  #nextTrack: RtpTrack | null = null
  #stopWaiting = (): void => undefined
  #ignoreLate = (): void => undefined
  #nextIndex: number
  #lastTimestamp: number | null = null
  #packets = 0
  #octets = 0
  readonly #retransmitter: Retransmitter
  /** In the middle of the work for a publisher. */
  readonly #fault = new LaterFault()

  constructor(options: DownTrackOptions) {
    this.options = options
    this.#nextIndex = options.firstIndex
    this.#retransmitter = new Retransmitter(options)
  }

  /** The track that it forwards; null while it forwards none. */
  get track(): RtpTrack | null {
    return this.#isForwarding ? (this.#segment?.track ?? null) : null
  }

  /** The track that it switches to with the next keyframe; null: none. */
  get nextTrack(): RtpTrack | null {
    return this.#nextTrack
  }

  /** Whether the viewer negotiated the codec of a track. */
  accepts(track: RtpTrack): boolean {
    return this.options.payloadTypes.has(track.shape.codec)
  }

  /**
   * Forwards `track` from a keyframe on, and the previous track until then. Returns false when the viewer cannot decode it. A
   * new viewer starts at once with the packets since a recent keyframe. On a switch those would repeat time that the viewer
   * has seen, so a switch uses them only if the source cannot be asked for a keyframe, and the previous track does not go on.
   * @param goesOn whether it does: both are layers of one source
   */
  attach(track: RtpTrack, nowMs: number, goesOn = false): boolean {
    if (!this.accepts(track)) return false
    if (track === this.#nextTrack) return true
    this.#wait(null)
    if (track === this.track) return true
    const isFresh = this.track === null && !track.isLate && track.keyAgeMs(nowMs) <= FRESH_KEYFRAME_MS
    const isCacheBest = isFresh || (!track.isAskable && !goesOn)
    const cached = isCacheBest ? track.sinceKeyframe() : []
    const [first] = cached
    if (first === undefined) {
      this.#wait(track)
      track.requestKeyframe(nowMs)
    } else this.#beginWithCached(track, first, nowMs)
    return true
  }

  /**
   * Call it every few hundredths of a second: continues a catch-up.
   * @throws what went wrong when a packet of its track came
   */
  pace(nowMs: number): void {
    this.#fault.raise()
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

  /** Bytes of media so far, without headers and retransmissions. */
  get octets(): number {
    return this.#octets
  }

  /** The index of the next packet. */
  get nextIndex(): number {
    return this.#nextIndex
  }

  /** Stops forwarding. A later `attach` continues the stream without a gap. */
  detach(): void {
    this.#wait(null)
    this.#leave()
  }

  /** The viewer asks for a keyframe (PLI or FIR). */
  requestKeyframe(nowMs: number): void {
    this.#nextTrack?.requestKeyframe(nowMs)
    this.track?.requestKeyframe(nowMs)
  }

  /** Call it several times a second. */
  tick(nowMs: number): void {
    this.#retransmitter.earn({ packets: this.#packets, octets: this.#octets }, nowMs)
  }

  /** How to send what the viewer has lost, from now on. */
  repeatResends(resends: Partial<Resends>): void {
    this.#retransmitter.repeat(resends)
  }

  /** The viewer lost packets (NACK). */
  resend(sequences: readonly number[], nowMs: number): void {
    this.tick(nowMs)
    this.#retransmitter.resend(sequences, this.#segment, this.#nextIndex, nowMs)
  }

  /** Sends about `bytes` of padding for a bandwidth probe. Returns the bytes sent; 0 without RTX. */
  pad(bytes: number): number {
    if (this.#segment === null || !this.#isForwarding) return 0
    return this.#retransmitter.pad(bytes, this.#segment, this.#nextIndex - 1)
  }

  /** The sender report of this moment; null while nothing is forwarded. */
  report(nowMs: number): SenderReport | null {
    const segment = this.#segment
    const timestamp = segment?.track.timeline.timestampAt(nowMs)
    if (!this.#isForwarding || segment === null || timestamp === null || timestamp === undefined) return null
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
    this.#nextTrack = track
    this.#stopWaiting =
      track?.listen((packet, nowMs) => {
        if (!packet.isKeyStart || track.isLate) return
        this.#fault.during(() => {
          this.#wait(null)
          // What comes after the first packet may be there already, if that one was lost and repaired.
          this.#beginWithCached(track, packet, nowMs)
        })
      }) ?? (() => undefined)
  }

  /** Begins with the cached packets from `first` on; after them the track's fan-out takes over. */
  #beginWithCached(track: RtpTrack, first: MediaPacket, nowMs: number): void {
    this.#begin(track, first, nowMs)
    this.#catchUp = { nextIndex: first.index, untilMs: nowMs + CATCH_UP_MS }
    this.pace(nowMs)
  }

  /** Continues the stream with `track` from `first` on: the next free index, and a timestamp that matches the elapsed time. */
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
      isFirst: this.options.isFirst === true,
      sent: (packet) => this.#sent(packet, target),
      failed: this.#fault.note,
    }
    this.#segment = { track, target }
    this.#isForwarding = true
    this.#ignoreLate = track.whenLate(() => this.#fault.during(() => this.#pauseWhileLate(track)))
  }

  /** What comes is old. The viewer goes on at a keyframe that is in time, of this track or of the one that it switches to. */
  #pauseWhileLate(track: RtpTrack): void {
    this.#leave()
    if (this.#nextTrack === null) this.#wait(track)
  }

  #leave(): void {
    if (this.#isForwarding && this.#catchUp === null) this.#segment?.track.fanout.remove(this.#segment.target)
    this.#ignoreLate()
    this.#catchUp = null
    this.#isForwarding = false
  }

  /** Both tracks map our clock to their RTP time, so the viewer's timestamps advance as fast as the clock. */
  #timestampOffset(track: RtpTrack, first: MediaPacket, nowMs: number): number {
    const before = this.#segment
    if (before === null || this.#lastTimestamp === null) return 0
    const now = before.track.timeline.timestampAt(nowMs) ?? this.#lastTimestamp - before.target.timestampOffset
    const offset = now + before.target.timestampOffset - (track.timeline.timestampAt(nowMs) ?? first.timestamp)
    const isBackwards = timestampDistance(first.timestamp + offset, this.#lastTimestamp) <= 0
    return (isBackwards ? this.#lastTimestamp + 1 - first.timestamp : offset) >>> 0
  }

  /** Sends a packet to this viewer only: the fan-out has sent it to the others. */
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
}
