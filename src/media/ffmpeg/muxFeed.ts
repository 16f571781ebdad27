import { type Frame, type FrameSink, isDescribed, type TrackInfo, trackKey } from '../frame.ts'
import { MatroskaWriter } from './matroska.ts'

export interface MuxFeedOptions {
  /** Takes all of the bytes or, returning false, none. */
  readonly write: (bytes: Uint8Array) => boolean
  /** A stream begins: the first one, or a new one after a change of tracks. The head is written after this call. */
  readonly begin: (tracks: readonly TrackInfo[]) => void
  readonly end: () => void
}

/**
 * A stream ends where its times go further ahead at once, or further back: a clock of the source was set, or nothing came for
 * long. Readers would fill the time in between, or squeeze what follows.
 */
const AHEAD_MAX_US = 10_000_000
const BACK_MAX_US = 500_000
/** A process gives a frame when it has this many later ones, which say how long it is shown and that none comes before it. */
const LATER_FRAMES = 3
/** A gap is at least this many times the step before it, so that a low frame rate is not a gap. */
const GAP_IN_STEPS = 4

/**
 * Turns the media of a feed into a Matroska stream for a process that may be slow. When the process falls behind, frames
 * are dropped up to the next keyframe: the result has a gap, but never a frame without its reference frames. After a jump of
 * its times the next keyframe begins a new stream.
 */
export class MuxFeed implements FrameSink {
  readonly #options: MuxFeedOptions
  #tracks: readonly TrackInfo[] = []
  #writer: MatroskaWriter | null = null
  #hasVideo = false
  #waitsForKey = true
  /** The decode time of the latest frame of each track. */
  readonly #lastUs = new Map<string, number>()
  #stepUs = 0
  #latestUs = 0
  /** Decode times of the latest frames that lead, the oldest first. */
  readonly #leadsUs: number[] = []
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
    if (this.#jumps(frame)) this.#interrupt(frame)
    const sinceUs = this.#pass(frame)
    if (this.#leads(frame)) this.#lead(frame)
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

  /**
   * Media from the first frame written to the latest that a process can have finished, microseconds. With a picture every few
   * seconds that is long before the latest frame, and while a source pauses its video it stands.
   */
  get dueUs(): number {
    const [dueUs = 0] = this.#leadsUs.length > LATER_FRAMES ? this.#leadsUs : []
    return this.#writer === null ? 0 : Math.max(0, dueUs - this.#beganUs)
  }

  /** The decode time of the latest frame of video, or of audio without video, microseconds. */
  get leadUs(): number {
    return this.#lastUs.get(this.#hasVideo ? 'video' : 'audio') ?? 0
  }

  /** Media time since the latest frame, microseconds. */
  #pass({ decodeTimeUs }: Frame): number {
    const sinceUs = Math.max(0, decodeTimeUs - this.#latestUs)
    this.#latestUs = Math.max(decodeTimeUs, this.#latestUs)
    return sinceUs
  }

  #lead({ decodeTimeUs }: Frame): void {
    this.#leadsUs.push(decodeTimeUs)
    if (this.#leadsUs.length > LATER_FRAMES + 1) this.#leadsUs.shift()
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

  /** What counts is the latest frame of any track: audio goes on while a camera is switched off. */
  #jumps(frame: Frame): boolean {
    const [key, { decodeTimeUs }] = [trackKey(frame), frame]
    const ownUs = this.#lastUs.get(key) ?? decodeTimeUs
    const aheadUs = this.#lastUs.size === 0 ? 0 : decodeTimeUs - Math.max(...this.#lastUs.values())
    const mostUs = Math.max(AHEAD_MAX_US, this.#stepUs * GAP_IN_STEPS)
    this.#lastUs.set(key, decodeTimeUs)
    if (aheadUs > 0) this.#stepUs = aheadUs
    return aheadUs > mostUs || decodeTimeUs < ownUs - BACK_MAX_US
  }

  #interrupt(frame: Frame): void {
    this.#lastUs.clear()
    this.#lastUs.set(trackKey(frame), frame.decodeTimeUs)
    this.#leadsUs.length = 0
    this.#latestUs = frame.decodeTimeUs
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

/** True when a stream that began with the tracks `a` can continue with `b`. */
function sameTracks(a: readonly TrackInfo[], b: readonly TrackInfo[]): boolean {
  return a.length === b.length && a.every((track, index) => b[index] !== undefined && sameTrack(track, b[index]))
}

function sameTrack(a: TrackInfo, b: TrackInfo): boolean {
  if (a.codec !== b.codec || Buffer.compare(a.config, b.config) !== 0 || trackKey(a) !== trackKey(b)) return false
  if (a.kind === 'audio') return b.kind === 'audio' && a.sampleRate === b.sampleRate && a.channels === b.channels
  return b.kind === 'video' && sameLength(a.width, b.width) && sameLength(a.height, b.height)
}

/** 0 means "not known yet", which is not a change. */
const sameLength = (a: number, b: number): boolean => a === b || a === 0 || b === 0
