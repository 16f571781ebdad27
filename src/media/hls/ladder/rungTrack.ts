import type { AudioTrack, Frame, TrackInfo, VideoTrack } from '../../frame.ts'
import { FrameSampler } from '../frameSampler.ts'
import { HlsPackager, type CutOptions } from '../packager.ts'
import type { HlsRendition } from '../rendition.ts'
import { isPast, type SourceSegment, type SourceTimeline } from './sourceTimeline.ts'

export interface RungTrackOptions {
  readonly timeline: SourceTimeline
  /** Added to a time of the source it gives the time of the stream, microseconds. */
  readonly offsetUs: number
  readonly audio: AudioTrack | null
  readonly cuts: Pick<CutOptions, 'segmentSeconds' | 'parts'>
  /** Its keyframes are where its publisher has them: where they are not those of the source, it is broken. */
  readonly isCopied: boolean
  /** The rendition, whose next segment has this number. */
  readonly renditionFrom: (n: number) => HlsRendition
  /** Frames per second of a complete segment. */
  readonly counted: (framesPerSecond: number) => void
  /** A playlist has something new. */
  readonly changed: () => void
  /** A segment would lack its video. */
  readonly broken: () => void
}

/** What to do with a frame: `wait` until the segment of the source is known, `skip` before the first one. */
type Step = 'take' | 'wait' | 'skip'

/** The most audio that waits for the first encoded video: ten seconds. */
const EARLY_MAX = 512
/** A layer is broken if no keyframe of it begins a segment of the source in this time. */
const SKIPPED_SEGMENTS = 3

/**
 * Makes the segments of an encoded rendition from its frames and the audio of the source: each with the number, date and
 * end of the same segment of the source's rendition. Waits until that one is known.
 */
export class RungTrack {
  readonly #options: RungTrackOptions
  #video: VideoTrack | null = null
  #queue: Frame[] = []
  #earlyAudio: Frame[] = []
  /** The time of the first frame that was left out, microseconds. */
  #skippedUs: number | null = null
  #isActive = false
  #isBroken = false
  #output: { readonly sampler: FrameSampler; readonly packager: HlsPackager } | null = null
  /** The segment of the source that frames belong to. */
  #segment: SourceSegment | null = null
  /** That segment is complete here, and the first frame of the next one was taken. */
  #isCut = false
  /** The presentation time of the latest encoded frame, microseconds; null: there is none. */
  lastUs: number | null = null

  constructor(options: RungTrackOptions) {
    this.#options = options
  }

  /** From now on it writes to its rendition: the run before this one is complete. */
  activate(): void {
    this.#isActive = true
    this.drain()
  }

  /** The encoder has begun. Another encoder of the same run continues it with the same configuration. */
  tracks([track]: readonly TrackInfo[]): void {
    if (track?.kind !== 'video') return
    if (this.#video !== null && Buffer.compare(this.#video.config, track.config) !== 0) return this.break()
    this.#video = track
  }

  /** An encoded frame. */
  frame(frame: Frame): void {
    if (this.#isBroken) return
    this.lastUs = frame.timeUs
    this.#queue.push(frame)
    this.drain()
  }

  audio(frame: Frame): void {
    if (this.#output !== null) return this.#output.sampler.frame(frame)
    this.#earlyAudio.push(frame)
    if (this.#earlyAudio.length > EARLY_MAX) this.#earlyAudio.shift()
  }

  /** Goes on with what waits for the source's rendition. */
  drain(): void {
    while (this.#isActive && !this.#isBroken) {
      const [frame] = this.#queue
      const step = frame === undefined ? 'wait' : this.#stepFor(frame)
      if (frame === undefined || step === 'wait') return
      this.#queue.shift()
      if (step === 'take') this.#take(frame)
    }
  }

  /** Nothing more is written. */
  abandon(): void {
    this.#isBroken = true
    this.#queue = []
    this.#output = null
  }

  /** No more frames come. */
  finish(): void {
    this.drain()
    this.#enterNext()
    // A source with B-frames that ends within a group of pictures leaves out some that come before its last frame.
    const { timeline, offsetUs } = this.#options
    this.#output?.sampler.discontinue({ untilUs: timeline.overUs + offsetUs })
    this.#queue = []
  }

  #stepFor(frame: Frame): Step {
    if (this.#output === null) return this.#begin(frame)
    this.#segment = this.#options.timeline.find(this.#segment?.n ?? -1) ?? this.#segment
    return !this.#isCut || this.#enterNext() ? 'take' : 'wait'
  }

  #enterNext(): boolean {
    const next = this.#isCut && this.#segment ? this.#options.timeline.find(this.#segment.n + 1) : undefined
    if (next === undefined) return false
    this.#segment = next
    this.#isCut = false
    return true
  }

  /** Begins with the first keyframe that begins a segment of the source, too. The frames before it are left out. */
  #begin(frame: Frame): Step {
    const { timeline, audio } = this.#options
    const segment = timeline.beginningWith(frame)
    if (segment === null || !frame.key) return this.#skip(frame)
    if (segment === 'later' || this.#video === null) return 'wait'
    this.#segment = segment
    this.#output = this.#newOutput(segment.n)
    this.#output.sampler.tracks([this.#video, audio].filter((track) => track !== null))
    for (const early of this.#earlyAudio.splice(0)) this.#output.sampler.frame(early)
    return 'take'
  }

  #skip({ timeUs }: Frame): Step {
    const { cuts, isCopied } = this.#options
    this.#skippedUs ??= timeUs
    if (isCopied && timeUs - this.#skippedUs > SKIPPED_SEGMENTS * cuts.segmentSeconds * 1_000_000) this.break()
    return 'skip'
  }

  #newOutput(n: number) {
    const { cuts, changed, counted, renditionFrom, offsetUs } = this.#options
    const segment: CutOptions['segment'] = ({ frames, seconds }) => counted(frames / seconds)
    const packager = new HlsPackager(renditionFrom(n), { ...cuts, led: true, segment }, changed)
    const sampler = new FrameSampler({
      packager,
      dateOf: () => this.#segment?.startMs ?? 0,
      hasGap: () => undefined,
      offsetOf: () => offsetUs,
      isContinuous: true,
    })
    return { packager, sampler }
  }

  /** A frame past the end of its segment begins the next one. */
  #take(frame: Frame): void {
    const { sampler, packager } = this.#output ?? {}
    const begins = this.#segment !== null && isPast(this.#segment, frame)
    if (begins && !frame.key && this.#options.isCopied) return this.break()
    sampler?.frame(frame)
    if (this.#segment === null || !begins) return
    packager?.cut()
    this.#isCut = true
    const next = this.#options.timeline.find(this.#segment.n + 1)
    if (next !== undefined && isPast(next, frame)) this.break()
  }

  /** It cannot go on as a part of this run. */
  break(): void {
    this.abandon()
    this.#options.broken()
  }
}
