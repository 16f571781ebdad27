import type { Frame, FrameSink, TrackInfo, VideoTrack } from '../../frame.ts'
import type { MediaPacket } from './packet.ts'
import type { Source } from './source.ts'
import type { RtpTrack } from './rtpTrack.ts'
import { type AssembledFrame, FrameAssembler } from '../../codecs/assembler.ts'
import { videoReader } from '../../codecs/videoReader.ts'

/** Sound does not wait longer than this for a first picture. */
const WAIT_FOR_VIDEO_MS = 3000
/** Whoever packages or records wants to begin a segment this often; browsers send no keyframe that nobody asks for. */
const KEYFRAME_MS = 1900
const NO_CONFIG = new Uint8Array(0)
const AUDIO: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: NO_CONFIG }

/**
 * Gives the frames of a source to a sink, put together from its packets, on one clock for sound and picture. Of several
 * layers the one that came first in the offer is taken. Returns the function that stops it.
 */
export function tap(source: Source, downTrack: FrameSink, nowMs: number): () => void {
  const video = source.layers.find(({ meter }) => meter.bitrate > 0)?.track ?? source.layers[0]?.track ?? null
  const taken = new Tap(downTrack, { hasVideo: video !== null, hasAudio: source.audio !== null, startedAtMs: nowMs })
  const stops = [
    video === null ? null : listenToVideo(video, taken, nowMs),
    source.audio && listenToAudio(source.audio, taken),
  ]
  return () => {
    for (const stop of stops) stop?.()
  }
}

function listenToVideo(track: RtpTrack, taken: Tap, nowMs: number): () => void {
  const { codec } = track.shape
  if (codec === 'opus' || codec === 'aac') return () => undefined
  const assembler = new FrameAssembler(videoReader(codec))
  const times = new Times(track)
  const push = (packet: MediaPacket, atMs: number): void => {
    for (const frame of assembler.push(packet, atMs)) taken.video(codec, frame, times.at(frame.timestamp))
    if (assembler.needsKeyframe || track.keyAgeMs(atMs) > KEYFRAME_MS) track.requestKeyframe(atMs)
  }
  for (const packet of track.sinceKeyframe()) push(packet, nowMs)
  return track.listen(push)
}

function listenToAudio(track: RtpTrack, taken: Tap): () => void {
  const times = new Times(track)
  return track.listen((packet, nowMs) => taken.audio(packet, times.at(packet.timestamp), nowMs))
}

interface TapOptions {
  readonly hasVideo: boolean
  readonly hasAudio: boolean
  readonly startedAtMs: number
}

class Tap {
  readonly #downTrack: FrameSink
  readonly #options: TapOptions
  #video: VideoTrack | null = null
  #isOpen = false
  /** What is 0 for the sink, on our clock. */
  #originMs: number | null = null

  constructor(downTrack: FrameSink, options: TapOptions) {
    this.#downTrack = downTrack
    this.#options = options
  }

  video(codec: VideoTrack['codec'], frame: AssembledFrame, wallMs: number): void {
    const { picture } = frame
    if (picture !== null && this.#isNews(picture)) {
      const { width, height, config } = picture
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

  #isNews({ width, height, config }: { width: number; height: number; config: Uint8Array }): boolean {
    const known = this.#video
    if (known === null || known.width !== width || known.height !== height) return true
    return Buffer.compare(known.config, config) !== 0
  }

  #notify(): void {
    this.#isOpen = true
    this.#downTrack.tracks([...(this.#video === null ? [] : [this.#video]), ...(this.#options.hasAudio ? [AUDIO] : [])])
  }

  #frame(frame: Pick<Frame, 'kind' | 'key' | 'data'>, wallMs: number): void {
    this.#originMs ??= wallMs
    const timeUs = Math.round((wallMs - this.#originMs) * 1000)
    // What is older than the first frame has no place on the sink's clock.
    if (timeUs >= 0) this.#downTrack.frame({ ...frame, timeUs, decodeTimeUs: timeUs })
  }
}

/** A stretch whose end would be this far from the clock is begun anew. */
const MAX_APART_MS = 80

/** The times of one track's frames: even as its RTP clock, and never far from the clock that it shares with others. */
class Times {
  readonly #track: RtpTrack
  #start: { readonly timestamp: number; readonly wallMs: number } | null = null
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(track: RtpTrack) {
    this.#track = track
  }

  at(timestamp: number): number {
    const clockMs = this.#track.timeline.wallAt(timestamp) ?? 0
    this.#start ??= { timestamp, wallMs: clockMs }
    const evenMs = this.#start.wallMs + (((timestamp - this.#start.timestamp) | 0) * 1000) / this.#track.shape.rate
    if (Math.abs(evenMs - clockMs) <= MAX_APART_MS) return this.#forward(evenMs)
    this.#start = { timestamp, wallMs: clockMs }
    return this.#forward(clockMs)
  }

  /** Never back: a muxer takes no frame that is older than the one before it. */
  #forward(wallMs: number): number {
    this.#lastMs = Math.max(wallMs, this.#lastMs + 0.01)
    return this.#lastMs
  }
}
