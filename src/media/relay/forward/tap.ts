import { Allowance } from '../../../base/allowance.ts'
import { type AudioTrack, type Frame, type FrameSink, rtpAudioTrack, type VideoTrack } from '../../frame.ts'
import type { MediaPacket } from './packet.ts'
import type { Source } from './source.ts'
import type { RtpTrack } from './rtpTrack.ts'
import { CLOCK_DRIFT } from './timeline.ts'
import { timestampDistance } from '../wire/rtp.ts'
import { type AssembledFrame, FrameAssembler } from '../../codecs/assembler.ts'
import type { VideoFormat } from '../../codecs/codec.ts'
import { isVideoCodec } from '../../codecs/codecs.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import { TRACK_CHANGES } from '../../publishing.ts'

/** Audio waits at most this long for the first video frame. */
const WAIT_FOR_VIDEO_MS = 3000
/** Packagers need a keyframe this often to start a segment, and browsers send keyframes only on request. */
const KEYFRAME_MS = 1900
const NO_CONFIG = new Uint8Array(0)

/**
 * Assembles the frames of a source from its packets, with one clock for audio and video. With simulcast it takes the first layer
 * of the offer that has packets. Returns a function that stops it.
 */
export function tap(source: Source, sink: FrameSink, nowMs: number): () => void {
  const video = source.layers.find(({ meter }) => meter.bitrate > 0)?.track ?? source.layers[0]?.track ?? null
  const taken = new Tap(sink, {
    hasVideo: video !== null,
    audio: source.audio && audioOf(source.audio),
    startedAtMs: nowMs,
  })
  const stops = [
    video === null ? null : listenToVideo(video, taken, nowMs),
    source.audio && listenToAudio(source.audio, taken),
  ]
  return () => {
    for (const stop of stops) stop?.()
  }
}

function audioOf({ shape: { codec, rate } }: RtpTrack): AudioTrack | null {
  return isVideoCodec(codec) ? null : rtpAudioTrack(codec, rate)
}

function listenToVideo(track: RtpTrack, taken: Tap, nowMs: number): () => void {
  const { codec } = track.shape
  if (!isVideoCodec(codec)) return () => undefined
  const assembler = new FrameAssembler(videoReader(codec))
  const times = new Times(track)
  let arrivesMs: number | null = null
  const push = (packet: MediaPacket, atMs: number): void => {
    for (const frame of assembler.push(packet, atMs))
      taken.video(codec, frame, times.at(frame.timestamp, arrivesMs), atMs)
    if (assembler.needsKeyframe || track.keyAgeMs(atMs) > KEYFRAME_MS) track.requestKeyframe(atMs)
  }
  for (const packet of track.sinceKeyframe()) push(packet, nowMs)
  return track.listen((packet, atMs) => {
    arrivesMs = atMs
    push(packet, atMs)
  })
}

function listenToAudio(track: RtpTrack, taken: Tap): () => void {
  const times = new Times(track)
  return track.listen((packet, nowMs) => taken.audio(packet, times.at(packet.timestamp, nowMs), nowMs))
}

interface TapOptions {
  readonly hasVideo: boolean
  readonly audio: AudioTrack | null
  readonly startedAtMs: number
}

class Tap {
  readonly #sink: FrameSink
  readonly #options: TapOptions
  #video: VideoTrack | null = null
  readonly #changes = new Allowance(TRACK_CHANGES)
  /** The size changes too often: video is left out, up to a keyframe that has the size of before or may have another one. */
  #isLeftOut = false
  #isOpen = false
  /** Time 0 of the sink, on our clock. */
  #originMs: number | null = null

  constructor(sink: FrameSink, options: TapOptions) {
    this.#sink = sink
    this.#options = options
  }

  video(codec: VideoTrack['codec'], frame: AssembledFrame, wallMs: number, nowMs: number): void {
    const { format } = frame
    if (frame.key) this.#isLeftOut = this.#video !== null && this.#isNew(format) && !this.#changes.take(nowMs)
    if (this.#isLeftOut) return
    if (format !== null && this.#isNew(format)) {
      const { width, height, config } = format
      this.#video = { kind: 'video', codec, width, height, config }
      this.#notify()
    } else if (this.#video === null && frame.key) {
      this.#video = { kind: 'video', codec, width: 0, height: 0, config: NO_CONFIG }
      this.#notify()
    }
    if (this.#video !== null) this.#frame({ kind: 'video', key: frame.key, data: frame.data }, wallMs)
  }

  audio({ payload }: MediaPacket, wallMs: number, nowMs: number): void {
    if (payload.length === 0) return
    const hasWaited = nowMs - this.#options.startedAtMs > WAIT_FOR_VIDEO_MS
    if (!this.#isOpen && (!this.#options.hasVideo || hasWaited)) this.#notify()
    if (this.#isOpen) this.#frame({ kind: 'audio', key: true, data: payload }, wallMs)
  }

  #isNew(format: VideoFormat | null): boolean {
    const video = this.#video
    if (format === null || video === null) return format !== null
    const { width, height, config } = format
    return video.width !== width || video.height !== height || Buffer.compare(video.config, config) !== 0
  }

  #notify(): void {
    this.#isOpen = true
    this.#sink.tracks([
      ...(this.#video === null ? [] : [this.#video]),
      ...(this.#options.audio === null ? [] : [this.#options.audio]),
    ])
  }

  #frame(frame: Pick<Frame, 'kind' | 'key' | 'data'>, wallMs: number): void {
    this.#originMs ??= wallMs
    const timeUs = Math.round((wallMs - this.#originMs) * 1000)
    // A frame from before the first one would have a negative time.
    if (timeUs >= 0) this.#sink.frame({ ...frame, timeUs, decodeTimeUs: timeUs })
  }
}

/** Times that are this far from the clock are set to it. Nearer ones follow it, no faster than clocks drift. */
const MAX_APART_MS = 80
/** A time that is further from its arrival is from another clock: the publisher set that of its RTP packets. */
const MAX_LATE_MS = 5000
/** So is one that is this far before the frame before it; packets out of order go back less. */
const MAX_BACK_MS = 500

/** The times of one track's frames: as regular as its RTP clock, and never far from the clock that audio and video share. */
class Times {
  readonly #track: RtpTrack
  #last: { readonly timestamp: number; readonly wallMs: number } | null = null
  #lastMs = Number.NEGATIVE_INFINITY
  #reference: object | null = null
  /** Added to what the RTP clock says, from a jump of it until its reports are right again. */
  #shiftMs = 0

  constructor(track: RtpTrack) {
    this.#track = track
  }

  /** @param arrivesMs null: it is cached, and came at a time that is not known */
  at(timestamp: number, arrivesMs: number | null): number {
    const saidMs = this.#track.timeline.wallAt(timestamp) ?? 0
    const stepMs = this.#sinceLastMs(timestamp)
    if (arrivesMs !== null) this.#correct(saidMs, arrivesMs, stepMs < -MAX_BACK_MS)
    const clockMs = saidMs + this.#shiftMs
    const evenMs = (this.#last?.wallMs ?? clockMs) + stepMs
    const mostMs = Math.abs(stepMs) * CLOCK_DRIFT
    const apartMs = clockMs - evenMs
    const isFar = Math.abs(apartMs) > MAX_APART_MS
    const wallMs = isFar ? clockMs : evenMs + Math.min(mostMs, Math.max(-mostMs, apartMs))
    this.#last = { timestamp, wallMs }
    return this.#forward(wallMs)
  }

  /** After a jump the frames are timed as they arrive, until a report is nearer to that. */
  #correct(saidMs: number, arrivesMs: number, hasGoneBack: boolean): void {
    const apartMs = (shiftMs: number): number => Math.abs(saidMs + shiftMs - arrivesMs)
    const { reference } = this.#track.timeline
    if (reference !== this.#reference && apartMs(0) < apartMs(this.#shiftMs)) this.#shiftMs = 0
    this.#reference = reference
    if (hasGoneBack || apartMs(this.#shiftMs) > MAX_LATE_MS) this.#shiftMs = arrivesMs - saidMs
  }

  /** 0 before the first. */
  #sinceLastMs(timestamp: number): number {
    const ticks = timestampDistance(timestamp, this.#last?.timestamp ?? timestamp)
    return (ticks * 1000) / this.#track.shape.rate
  }

  /** Strictly growing: a muxer refuses a frame that is older than the one before it. */
  #forward(wallMs: number): number {
    this.#lastMs = Math.max(wallMs, this.#lastMs + 0.01)
    return this.#lastMs
  }
}
