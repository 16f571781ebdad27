import type { VideoFormat, VideoReader } from '../../codecs/codec.ts'
import type { Layer } from '../forward/source.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'

/** To read a keyframe copies it. */
const LOOK_MS = 10_000

/** The size and the frames of the video that a publisher sends; of the largest layer with simulcast. */
export class SentVideo {
  readonly #layers: readonly Layer[]
  readonly #reader: VideoReader
  /** Of its latest keyframe that was looked at; null: none yet. */
  format: VideoFormat | null = null
  #size = { width: 0, height: 0 }
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(layers: readonly Layer[], reader: VideoReader) {
    this.#layers = layers
    this.#reader = reader
  }

  /** Frames so far. Smaller layers have as many or fewer. */
  get frames(): number {
    return Math.max(0, ...this.#layers.map(({ track }) => track.frames))
  }

  /** The size in pixels, when it is known for the first time or has changed; else null. Call it about every second. */
  newSize(nowMs: number): { readonly width: number; readonly height: number } | null {
    if (this.#size.width > 0 && nowMs - this.#lookedAtMs < LOOK_MS) return null
    this.#lookedAtMs = nowMs
    this.format = this.#largest() ?? this.format
    const { width, height } = this.format ?? this.#size
    if (width === this.#size.width && height === this.#size.height) return null
    this.#size = { width, height }
    return this.#size
  }

  /** Layers without packets are paused: a browser does that to the largest first. */
  #largest(): VideoFormat | undefined {
    const active = this.#layers.filter(({ meter }) => meter.bitrate > 0)
    const formats = (active.length > 0 ? active : this.#layers).map(({ track }) => this.#formatOf(track))
    return formats.filter((format) => format !== null).toSorted((a, b) => b.width - a.width)[0]
  }

  #formatOf(track: RtpTrack): VideoFormat | null {
    const payloads = track.keyframe().map(({ payload }) => payload)
    return payloads.length === 0 ? null : (this.#reader.join(payloads)?.format ?? null)
  }
}
