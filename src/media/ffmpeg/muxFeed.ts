import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { MatroskaWriter } from './matroska.ts'

export interface MuxFeedOptions {
  /** Takes bytes of the stream; false when it cannot now, and then has taken none. */
  readonly write: (bytes: Uint8Array) => boolean
  /** The stream begins, or has to begin anew because its tracks are others now; the head is written after it. */
  readonly begin: (tracks: readonly TrackInfo[]) => void
  readonly end: () => void
  /**
   * A stream does not go on over a hole in its video that is longer than this, microseconds: the next keyframe begins a
   * new one. (Without video, a hole in its audio.) Default: it goes on over every hole.
   */
  readonly maxHoleUs?: number
}

/** Frames that come rarely are no hole: one is this many times as long as the step before it. */
const HOLE_IN_STEPS = 4

/**
 * Turns the media of a feed into a Matroska stream for a process that may be slow. What does not fit is dropped, from
 * there to the next keyframe: a gap, never a picture that lacks what it refers to.
 */
export class MuxFeed implements FrameSink {
  readonly #options: MuxFeedOptions
  #tracks: readonly TrackInfo[] = []
  #writer: MatroskaWriter | null = null
  #hasVideo = false
  #waitsForKey = true
  #lastUs: number | null = null
  #stepUs = 0
  #hasHole = false
  #latestUs = 0
  #beganUs = 0
  /** Frames that were left out because the reader was slow, those up to the next keyframe included. */
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
    if (this.#leads(frame)) this.#lookForHole(frame)
    if (this.#waitsForKey) {
      if (!this.#canBegin(frame)) return this.#leaveOut(sinceUs)
      this.#waitsForKey = false
    }
    const writer = this.#writer ?? this.#begin()
    const bytes = writer.frame(frame)
    if (bytes.length === 0 || this.#options.write(bytes)) return
    this.#waitsForKey = true
    this.#leaveOut(sinceUs)
  }

  end(): void {
    this.#options.end()
  }

  /** Media from the first frame that was written to the latest that came, microseconds. */
  get mediaUs(): number {
    return this.#writer === null ? 0 : this.#latestUs - this.#beganUs
  }

  /** Media time that has passed with a frame, microseconds. */
  #pass({ decodeTimeUs }: Frame): number {
    const sinceUs = Math.max(0, decodeTimeUs - this.#latestUs)
    this.#latestUs = Math.max(decodeTimeUs, this.#latestUs)
    return sinceUs
  }

  /** Before the first frame was written, nothing is late. */
  #leaveOut(mediaUs: number): void {
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

  #lookForHole({ decodeTimeUs, key }: Frame): void {
    const stepUs = decodeTimeUs - (this.#lastUs ?? decodeTimeUs)
    const { maxHoleUs = Number.POSITIVE_INFINITY } = this.#options
    if (Math.abs(stepUs) > Math.max(maxHoleUs, this.#stepUs * HOLE_IN_STEPS)) this.#hasHole = true
    this.#lastUs = decodeTimeUs
    this.#stepUs = stepUs
    if (!this.#hasHole || !key) return
    this.#hasHole = false
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

/** H.264 and AAC cannot be read without their configuration. */
const isDescribed = ({ codec, config }: TrackInfo): boolean =>
  (codec !== 'h264' && codec !== 'aac') || config.length > 0

/** True when a stream that began with the tracks `a` can go on with `b`. */
function sameTracks(a: readonly TrackInfo[], b: readonly TrackInfo[]): boolean {
  return a.length === b.length && a.every((track, index) => b[index] !== undefined && sameTrack(track, b[index]))
}

function sameTrack(a: TrackInfo, b: TrackInfo): boolean {
  if (a.codec !== b.codec || Buffer.compare(a.config, b.config) !== 0) return false
  if (a.kind === 'audio') return b.kind === 'audio' && a.sampleRate === b.sampleRate && a.channels === b.channels
  return b.kind === 'video' && sameLength(a.width, b.width) && sameLength(a.height, b.height)
}

/** 0 is not known yet: no change. */
const sameLength = (a: number, b: number): boolean => a === b || a === 0 || b === 0
