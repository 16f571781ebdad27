import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { MatroskaWriter } from './matroska.ts'

export interface MuxFeedOptions {
  /** Takes all of the bytes or, returning false, none. */
  readonly write: (bytes: Uint8Array) => boolean
  /** A stream begins: the first one, or a new one after a change of tracks. The head is written after this call. */
  readonly begin: (tracks: readonly TrackInfo[]) => void
  readonly end: () => void
  /**
   * After a longer gap in the video, microseconds, the next keyframe begins a new stream. (Without video: a gap in the
   * audio.) Default: no gap ends the stream.
   */
  readonly maxGapUs?: number
}

/** A gap is at least this many times the previous frame interval, so that a low frame rate is not a gap. */
const GAP_IN_STEPS = 4

/**
 * Turns the media of a feed into a Matroska stream for a process that may be slow. When the process falls behind, frames
 * are dropped up to the next keyframe: the result has a gap, but never a frame without its reference frames.
 */
export class MuxFeed implements FrameSink {
  readonly #options: MuxFeedOptions
  #tracks: readonly TrackInfo[] = []
  #writer: MatroskaWriter | null = null
  #hasVideo = false
  #waitsForKey = true
  #lastUs: number | null = null
  #stepUs = 0
  #hasGap = false
  #latestUs = 0
  #beganUs = 0
  /** Frames that were dropped because the reader was slow, including those up to the next keyframe. */
  dropped = 0
  /** The media time of those, microseconds. */
  droppedUs = 0

  constructor(options: MuxFeedOptions) {
    this.#options = options
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.#writer !== null && sameTracks(this.#tracks, tracks)) return
    this.#tracks = tracks
    this.#writer = null
    this.#waitsForKey = true
    this.#hasVideo = tracks.some((track) => track.kind === 'video')
  }

  frame(frame: Frame): void {
    const sinceUs = this.#pass(frame)
    if (this.#leads(frame)) this.#checkForGap(frame)
    if (this.#waitsForKey) {
      if (!this.#canBegin(frame)) return this.#countDropped(sinceUs)
      this.#waitsForKey = false
    }
    const writer = this.#writer ?? this.#begin()
    const bytes = writer.frame(frame)
    if (bytes.length === 0 || this.#options.write(bytes)) return
    this.#waitsForKey = true
    this.#countDropped(sinceUs)
  }

  end(): void {
    this.#options.end()
  }

  /** Media time from the first frame written to the latest frame received, microseconds. */
  get mediaUs(): number {
    return this.#writer === null ? 0 : this.#latestUs - this.#beganUs
  }

  /** Media time since the latest frame, microseconds. */
  #pass({ decodeTimeUs }: Frame): number {
    const sinceUs = Math.max(0, decodeTimeUs - this.#latestUs)
    this.#latestUs = Math.max(decodeTimeUs, this.#latestUs)
    return sinceUs
  }

  /** Frames before the first written one do not count as dropped. */
  #countDropped(mediaUs: number): void {
    if (this.#writer === null) return
    this.dropped += 1
    this.droppedUs += mediaUs
  }

  #canBegin(frame: Frame): boolean {
    return frame.key && this.#leads(frame) && this.#tracks.every(isDescribed)
  }

  #leads({ kind }: Frame): boolean {
    return kind === 'video' || !this.#hasVideo
  }

  #checkForGap({ decodeTimeUs, key }: Frame): void {
    const stepUs = decodeTimeUs - (this.#lastUs ?? decodeTimeUs)
    const { maxGapUs = Number.POSITIVE_INFINITY } = this.#options
    if (Math.abs(stepUs) > Math.max(maxGapUs, this.#stepUs * GAP_IN_STEPS)) this.#hasGap = true
    this.#lastUs = decodeTimeUs
    this.#stepUs = stepUs
    if (!this.#hasGap || !key) return
    this.#hasGap = false
    this.#writer = null
    this.#waitsForKey = true
  }

  #begin(): MatroskaWriter {
    const writer = new MatroskaWriter(this.#tracks)
    this.#writer = writer
    this.#beganUs = this.#latestUs
    this.#options.begin(this.#tracks)
    this.#options.write(writer.head())
    return writer
  }
}

/** A decoder cannot read H.264 and AAC without their configuration. */
const isDescribed = ({ codec, config }: TrackInfo): boolean =>
  (codec !== 'h264' && codec !== 'aac') || config.length > 0

/** True when a stream that began with the tracks `a` can continue with `b`. */
function sameTracks(a: readonly TrackInfo[], b: readonly TrackInfo[]): boolean {
  return a.length === b.length && a.every((track, index) => b[index] !== undefined && sameTrack(track, b[index]))
}

function sameTrack(a: TrackInfo, b: TrackInfo): boolean {
  if (a.codec !== b.codec || Buffer.compare(a.config, b.config) !== 0) return false
  if (a.kind === 'audio') return b.kind === 'audio' && a.sampleRate === b.sampleRate && a.channels === b.channels
  return b.kind === 'video' && sameLength(a.width, b.width) && sameLength(a.height, b.height)
}

/** 0 means "not known yet", which is not a change. */
const sameLength = (a: number, b: number): boolean => a === b || a === 0 || b === 0
