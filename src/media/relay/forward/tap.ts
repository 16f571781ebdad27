import { Allowance } from '../../../base/allowance.ts'
import { type AudioTrack, type Frame, type FrameSink, rtpAudioTrack, type VideoTrack } from '../../frame.ts'
import type { MediaPacket } from './packet.ts'
import type { Source } from './source.ts'
import { FrameTimes } from './frameTimes.ts'
import type { RtpTrack } from './rtpTrack.ts'
import { tapVideo } from './tapVideo.ts'
import type { AssembledFrame } from '../../codecs/assembler.ts'
import type { VideoFormat } from '../../codecs/codec.ts'
import { isVideoCodec } from '../../codecs/codecs.ts'
import { TRACK_CHANGES } from '../../publishing.ts'

/** Audio waits at most this long for the first video frame. */
const WAIT_FOR_VIDEO_MS = 3000
const NO_CONFIG = new Uint8Array(0)

/**
 * Assembles the frames of a source from its packets, with one clock for audio and video. With simulcast they are those of the
 * largest layer that comes. Returns a function that stops it.
 */
export function tap(source: Source, sink: FrameSink, nowMs: number): () => void {
  const taken = new Tap(sink, {
    hasVideo: source.layers.length > 0,
    audio: source.audio && audioOf(source.audio),
    startedAtMs: nowMs,
  })
  const stopVideo = tapVideo(source.layers, (...frame) => taken.video(...frame), nowMs)
  const stopAudio = source.audio && listenToAudio(source.audio, taken)
  return () => {
    stopVideo()
    stopAudio?.()
  }
}

function audioOf({ shape: { codec, rate } }: RtpTrack): AudioTrack | null {
  return isVideoCodec(codec) ? null : rtpAudioTrack(codec, rate)
}

function listenToAudio(track: RtpTrack, taken: Tap): () => void {
  const times = new FrameTimes(track)
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
