import type { RtpCodec } from '../../codecs/codecs.ts'
import { createJsFanout, type Fanout } from './fanout.ts'
import { type MediaPacket, PacketRing, PayloadMemory } from './packet.ts'
import { Timeline } from './timeline.ts'

/** Two seconds of a fast stream: for retransmissions, and for viewers that join after a keyframe. */
const VIDEO_PACKETS = 2048
const AUDIO_PACKETS = 256
/** A viewer that joins late gets at most this many packets at once. */
const MAX_CATCH_UP = 1000
/**
 * Keyframe requests are sent at most this often: each costs a publisher the bits of ten other frames. They are repeated this
 * often until a keyframe arrives: the request or the keyframe may be lost.
 */
const KEYFRAME_INTERVAL_MS = 500
/** Requests from before a pause of this length may have come no further than its packets. */
const PAUSE_MS = 1000

export interface RtpTrackShape {
  readonly kind: 'video' | 'audio'
  readonly codec: RtpCodec
  /** Ticks of the RTP clock per second. */
  readonly rate: number
}

/** A packet as a publisher sent it. */
export interface RtpArrival {
  /** The publisher's sequence number, unwrapped. */
  readonly index: number
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
  /** It waited so long before it was read that viewers get none of it. */
  readonly isLate?: boolean
}

/** One of a track's. */
export interface RawPacket extends RtpArrival {
  readonly ssrc: number
  readonly isKeyStart: boolean
}

type PacketListener = (packet: MediaPacket, nowMs: number) => void

/** One medium of a source, or one simulcast layer: caches its latest packets, and forwards each to its fan-out and listeners. */
export class RtpTrack {
  readonly shape: RtpTrackShape
  readonly timeline: Timeline
  readonly fanout: Fanout
  readonly #ring: PacketRing
  readonly #memory = new PayloadMemory()
  readonly #listeners = new Set<PacketListener>()
  readonly #lateListeners = new Set<() => void>()
  /** The latest packet is too old for viewers. It is kept and goes to listeners, since recordings want all of it. */
  isLate = false
  readonly #askForKeyframe: ((nowMs: number) => void) | null
  /** Video frames so far: the last packet of each has the marker. */
  frames = 0
  /** Called with the last packet of each frame that comes in order, or with each of audio. Set by what measures it. */
  onFrame: ((packet: MediaPacket, isKey: boolean, nowMs: number) => void) | null = null
  #ssrc: number | null = null
  #firstIndex = 0
  #indexOffset = 0
  #timestampOffset = 0
  #last: MediaPacket | null = null
  #lastAtMs = 0
  /** Where the latest keyframe begins. */
  #keyStart: MediaPacket | null = null
  #keyStartAtMs = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  /** Since when a keyframe is asked for; null: none is missing. */
  #askedSinceMs: number | null = null

  /** `askForKeyframe` sends a request to the publisher; null if the source takes no requests. */
  constructor(
    shape: RtpTrackShape,
    askForKeyframe: ((nowMs: number) => void) | null,
    fanout: Fanout = createJsFanout(),
  ) {
    this.shape = shape
    this.timeline = new Timeline(shape.rate)
    this.#askForKeyframe = askForKeyframe
    this.fanout = fanout
    this.#ring = new PacketRing(shape.kind === 'video' ? VIDEO_PACKETS : AUDIO_PACKETS)
  }

  /** Whether the source answers keyframe requests. */
  get isAskable(): boolean {
    return this.#askForKeyframe !== null
  }

  /** Whether it has viewers or listeners. */
  get isUsed(): boolean {
    return this.#listeners.size > 0 || !this.fanout.isEmpty
  }

  get last(): MediaPacket | null {
    return this.#last
  }

  /** When the latest packet came. */
  get latestAtMs(): number {
    return this.#lastAtMs
  }

  get ssrc(): number | null {
    return this.#ssrc
  }

  packet(index: number): MediaPacket | undefined {
    return this.#ring.get(index)
  }

  /** Takes a packet in order of arrival, and forwards it. */
  take(raw: RawPacket, nowMs: number): void {
    if (raw.ssrc !== this.#ssrc) this.#continueWith(raw, nowMs)
    const index = raw.index + this.#indexOffset
    if (!this.#isNew(index)) return
    const packet: MediaPacket = {
      index,
      timestamp: (raw.timestamp + this.#timestampOffset) >>> 0,
      marker: raw.marker,
      payload: this.#memory.keep(raw.payload),
      isKeyStart: raw.isKeyStart,
    }
    this.#noteLate(raw.isLate === true, nowMs)
    this.#ring.put(packet)
    this.timeline.seen(packet.timestamp, nowMs)
    this.#noteKeyStart(packet, nowMs)
    const isLatest = this.#last === null || packet.index > this.#last.index
    if (isLatest) this.#last = packet
    const isVideo = this.shape.kind === 'video'
    if (packet.payload.length > 0 && (packet.marker || !isVideo)) {
      if (isVideo) this.frames += 1
      if (isLatest) this.onFrame?.(packet, packet.timestamp === this.#keyStart?.timestamp, nowMs)
    }
    if (this.#askedSinceMs !== null && nowMs - this.#lastAtMs > PAUSE_MS) this.#askedSinceMs = nowMs
    this.#lastAtMs = nowMs
    this.fanout.send(packet)
    for (const listener of this.#listeners) listener(packet, nowMs)
  }

  /** The publisher's RTP time in this track's own, for sender reports. */
  ownTimestamp(publishers: number): number {
    return (publishers + this.#timestampOffset) >>> 0
  }

  /** Calls `listener` with every packet. Returns a function that stops it. */
  listen(listener: PacketListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Calls `listener` when packets begin to be late. It must take its targets out of the fan-out, until a keyframe is in time.
   * Returns a function that stops it.
   */
  whenLate(listener: () => void): () => void {
    this.#lateListeners.add(listener)
    return () => void this.#lateListeners.delete(listener)
  }

  /** How long ago the latest keyframe began, in milliseconds; infinite before the first. */
  keyAgeMs(nowMs: number): number {
    return this.#keyStart === null ? Number.POSITIVE_INFINITY : nowMs - this.#keyStartAtMs
  }

  /** How long packets have come without the keyframe that the publisher was asked for, in milliseconds. */
  get keyframeWaitMs(): number {
    return this.#askedSinceMs === null || !this.isAskable ? 0 : Math.max(0, this.#lastAtMs - this.#askedSinceMs)
  }

  /** The packets from the latest keyframe on; empty when there is none, or it is too long ago. */
  sinceKeyframe(): MediaPacket[] {
    const [first, last] = [this.#keyStart, this.#last]
    if (first === null || last === null || last.index - first.index >= MAX_CATCH_UP) return []
    return this.#ring.get(first.index) === first ? this.#ring.range(first.index, last.index) : []
  }

  /** The packets of the latest keyframe that have arrived; empty before the first, and when it is too long ago. */
  keyframe(): MediaPacket[] {
    const first = this.#keyStart
    if (first === null || this.#ring.get(first.index) !== first) return []
    const packets = [first]
    for (let index = first.index + 1; packets.length < this.#ring.size; index += 1) {
      const next = this.#ring.get(index)
      if (next?.timestamp !== first.timestamp) break
      packets.push(next)
    }
    return packets
  }

  /** Asks the publisher for a keyframe, until one arrives. Requests of many viewers become one. */
  requestKeyframe(nowMs: number): void {
    if (this.shape.kind === 'audio') return
    this.#askedSinceMs ??= nowMs
    this.tick(nowMs)
  }

  /** Call it several times a second: sends or repeats a pending request. */
  tick(nowMs: number): void {
    if (this.#askedSinceMs === null || nowMs - this.#askedAtMs < KEYFRAME_INTERVAL_MS) return
    this.#askedAtMs = nowMs
    this.#askForKeyframe?.(nowMs)
  }

  /** A keyframe is asked for only when packets are in time again: before that it would be late too. */
  #noteLate(isLate: boolean, nowMs: number): void {
    if (isLate === this.isLate) return
    this.isLate = isLate
    if (isLate) for (const listener of this.#lateListeners) listener()
    else this.requestKeyframe(nowMs)
  }

  /** The parameter sets and slices of a keyframe share a timestamp; the earliest packet with it is the start. */
  #noteKeyStart(packet: MediaPacket, nowMs: number): void {
    if (!packet.isKeyStart) return
    const before = this.#keyStart
    const isSameFrame = before !== null && before.timestamp === packet.timestamp
    if (isSameFrame ? packet.index > before.index : before !== null && packet.index < before.index) return
    this.#keyStart = packet
    this.#keyStartAtMs = nowMs
    this.#askedSinceMs = null
  }

  /**
   * Whether `index` is new. It becomes an SRTP nonce of every viewer, and a nonce must never be used twice. A packet from before
   * the ring may have been forwarded already, so it is refused too.
   */
  #isNew(index: number): boolean {
    if (index < this.#firstIndex) return false
    if (this.#last !== null && index <= this.#last.index - this.#ring.size) return false
    return this.#ring.get(index) === undefined
  }

  /** A new SSRC continues where the old one ended, so that viewers do not notice. */
  #continueWith(raw: RawPacket, nowMs: number): void {
    this.#ssrc = raw.ssrc
    if (this.#last === null) return
    this.#firstIndex = this.#last.index + 1
    const elapsed = Math.max(1, Math.round(((nowMs - this.#lastAtMs) * this.shape.rate) / 1000))
    this.#indexOffset = this.#firstIndex - raw.index
    this.#timestampOffset = (this.#last.timestamp + elapsed - raw.timestamp) >>> 0
    this.timeline.reset()
  }
}
