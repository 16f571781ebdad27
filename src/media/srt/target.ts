import { coded, say } from '../../core/notices.ts'
import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { elementaryStream } from '../mpegts/elementary.ts'
import { TsWriter } from '../mpegts/writer.ts'
import type { SenderEnd } from '../publishing.ts'
import { SrtCall, type SrtCallOptions, type SrtHalf, type SrtLink } from './caller.ts'
import { HEAD_BYTES } from './packets.ts'
import { SrtSender, TS_PACKETS } from './sender.ts'

/** Deadlines of a sender need no more. */
const TICK_MS = 250
/** How long a target may acknowledge nothing that it is sent. */
const STUCK_MS = 10_000

export interface SrtTargetOptions extends Omit<SrtCallOptions, 'tickMs' | 'begin'> {
  /** For tests: how many packets a key is for. */
  readonly packetsOfKey?: number
  /** Subscribe it to the feed now. Called once at most. */
  readonly ready: () => void
  /** The target takes the tracks of the feed. Called once at most, after `ready`. */
  readonly accepted: () => void
}

/**
 * Publishes one feed to an SRT listener, as MPEG-TS. It takes frames without ever waiting: while a target acknowledges
 * nothing, it drops them, and goes on with the next keyframe. Frames before the agreement are ignored.
 */
export class SrtTarget implements FrameSink {
  readonly #options: SrtTargetOptions
  readonly #call: SrtCall
  readonly #writer = new TsWriter({ packets: TS_PACKETS, headBytes: HEAD_BYTES })
  #sender: SrtSender | null = null
  #tracks: readonly TrackInfo[] = []
  /** Audio that leaves with the next frame: one more datagram would cost about as much as a frame of video. */
  #waiting: Frame | null = null
  #isSkipping = true
  /** Monotonic milliseconds; null: the target keeps up. */
  #fullSinceMs: number | null = null
  #dropped = 0
  #isOver = false

  constructor(options: SrtTargetOptions) {
    this.#options = options
    this.#call = new SrtCall({
      ...options,
      tickMs: TICK_MS,
      begin: (link) => this.#begin(link),
      ended: (how) => this.#over(how),
    })
  }

  get bytes(): { readonly bytesIn: number; readonly bytesOut: number } {
    return this.#call.bytes
  }

  /** What the target has not acknowledged. */
  get waitingBytes(): number {
    return this.#sender?.waitingBytes ?? 0
  }

  /** Frames that the target was too slow for. */
  get dropped(): number {
    return this.#dropped
  }

  /** Packets that were sent again. */
  get resent(): number {
    return this.#sender?.resent ?? 0
  }

  /** Whether MPEG-TS carries a track as it is. */
  takes(track: TrackInfo): boolean {
    return elementaryStream(track).ok
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.#isOver || this.#sender === null) return
    this.#send()
    const set = this.#writer.setTracks(tracks)
    if (!set.ok) {
      this.#call.end()
      return this.#over({ kind: 'unsuitable', ...say(set.error) })
    }
    const isFirst = this.#tracks.length === 0
    this.#tracks = tracks
    if (isFirst && tracks.length > 0) this.#options.accepted()
  }

  frame(frame: Frame): void {
    const sender = this.#sender
    if (sender === null || this.#isOver) return
    const nowMs = this.#options.clock.monotonic()
    if (sender.isFull(nowMs)) this.#skip()
    if (this.#isSkipping && (sender.isFull(nowMs) || !this.#begins(frame))) {
      this.#dropped += 1
      return
    }
    this.#isSkipping = false
    if (frame.kind === 'audio' && this.#waiting === null && this.#hasVideo) this.#waiting = frame
    else this.#send(frame)
  }

  /**
   * Says goodbye when the target has shown what it has, after its latency: libsrt drops what still waits for its time. Nothing is
   * called any more. Idempotent.
   */
  end(): void {
    if (!this.#isOver) this.#send()
    this.#isOver = true
    const nowMs = this.#options.clock.monotonic()
    const keepsUp = this.#sender?.isFull(nowMs) === false
    this.#call.end(keepsUp ? this.#sender?.unshownMs(nowMs) : 0)
  }

  /** Says goodbye at once. Idempotent. */
  hangUp(): void {
    this.end()
    this.#call.end()
  }

  #begin(link: SrtLink): SrtHalf {
    const { packetsOfKey } = this.#options
    const more = packetsOfKey === undefined ? {} : { packetsOfKey }
    const sender = new SrtSender({ ...link, latencyMs: link.sendLatencyMs, ...more })
    this.#sender = sender
    // The feed may send tracks at once that end the call, which has to know its half before.
    queueMicrotask(() => {
      if (!this.#isOver) this.#options.ready()
    })
    return {
      take: (packet, nowMs) => (packet.kind === 'control' ? sender.take(packet, nowMs) : undefined),
      tick: (nowMs) => {
        this.#send()
        sender.tick(nowMs)
        this.#look(sender, link, nowMs)
      },
    }
  }

  /** A target that answers and takes nothing is told to the operator, as one that is gone. */
  #look(sender: SrtSender, { lastedMs }: SrtLink, nowMs: number): void {
    this.#fullSinceMs = sender.isFull(nowMs) ? (this.#fullSinceMs ?? nowMs) : null
    if (this.#fullSinceMs === null || lastedMs(this.#fullSinceMs, nowMs) < STUCK_MS) return
    this.#call.end()
    this.#over({ kind: 'lost', ...say(coded('target_does_not_read')) })
  }

  get #hasVideo(): boolean {
    return this.#tracks.some((track) => track.kind === 'video')
  }

  #begins({ kind, key }: Frame): boolean {
    return key && (kind === 'video' || !this.#hasVideo)
  }

  /** What waits leaves, and a frame with it. */
  #send(frame: Frame | null = null): void {
    const frames = [this.#waiting, frame].filter((one) => one !== null)
    this.#waiting = null
    const run = this.#writer.frames(frames)
    if (run !== null) this.#sender?.send(run, this.#options.clock.monotonic())
  }

  #skip(): void {
    this.#isSkipping = true
    if (this.#waiting !== null) this.#dropped += 1
    this.#waiting = null
  }

  #over(how: SenderEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.ended(how)
  }
}
