import { isGap } from '../../core/hls/cutter.ts'
import type { Sample } from '../../core/hls/facts.ts'
import { samplesIn } from '../codecs/audioFrames.ts'
import { FillBudget } from '../fillBudget.ts'
import { type AudioTrack, type Frame, type FrameSink, type TrackInfo, trackKey } from '../frame.ts'
import { codecsOf, initOf, type Mp4Track, mp4Tracks } from './fmp4.ts'
import type { HlsPackager } from './packager.ts'
import { TrackGap } from './trackGap.ts'

export interface FrameSamplerOptions {
  readonly packager: HlsPackager
  /** The date of a time of the source, both in milliseconds. */
  readonly dateOf: (sourceMs: number) => number
  /** There was a gap. `clockChanged`: the source has set its clock back. */
  readonly hasGap: (clockChanged: boolean) => void
  /**
   * What is added to the times of the source from this frame on, so that they go on at `endUs`; all in microseconds. Default:
   * exactly so. Renditions of one source agree on it.
   */
  readonly offsetOf?: (decodeTimeUs: number, endUs: number) => number
  /** Monotonic milliseconds. Without it the latest keyframe is not shown again when video is missing. */
  readonly nowMs?: () => number
  /** Whether the source sends video: what an encoder has not given yet is late then, and not missing. Default: no. */
  readonly sendsVideo?: () => boolean
  /** The source has no gaps, however far its frames are apart. */
  readonly isContinuous?: boolean
  /** A frame of the lead is in the stream, or will be: one of the source, or the latest keyframe again. */
  readonly taken?: (frame: Frame) => void
  /** A run of frames without a gap begins. */
  readonly begins?: (run: SampledRun) => void
  /** The run is over. May be called when there is none. */
  readonly ends?: () => void
}

/** Where a run ends, in microseconds of the stream. */
export interface RunEnd {
  /** Where its last frame ends at the latest. */
  readonly untilUs?: number
  /** Where video that is missing ends; renditions of one source agree on it. */
  readonly gapEndUs?: number | null
}

/** Times are microseconds. */
export interface SampledRun {
  readonly tracks: readonly TrackInfo[]
  /** The presentation time of its first frame. */
  readonly startUs: number
  /** Added to a time of the source it gives the time of the stream. */
  readonly offsetUs: number
}

const US = 1_000_000
/** What a frame of video lasts when nothing says it. */
const USUAL_US = US / 30
/** Frames of audio are not that far apart. */
const AUDIO_STEP_MAX_US = 500_000
/** The most audio of a track that waits for the keyframe that a stream begins with. */
const EARLY_MAX = 256

/** Room for rounded times where a part has to fit into its target. */
const ROUNDING_US = 20
/** A frame is not shown for a shorter time. */
const LEAST_US = 1000

/** The time of a frame that fits into this, microseconds. */
const fitting = (seconds: number): number => Math.max(LEAST_US, Math.floor(seconds * US) - ROUNDING_US)

/**
 * What is left before video comes back and is shorter than this makes no segment of its own: renditions differ in it by
 * rounding, or one of them did not miss any video. Shorter than a part, and segments stay within their target duration.
 */
const REST_US = 300_000

/** A frame of the lead whose end is not known yet. */
interface Pending {
  readonly frame: Frame
  /** Microseconds of the stream. */
  readonly dtsUs: number
}

/**
 * Turns the frames of a feed, of codecs that MP4 has, into samples. The times of the stream go on over every discontinuity; the
 * last frame before one gets the usual length, and what follows begins with a keyframe. While a source sends audio and no
 * video, its latest keyframe is shown again: playlists go on, and players play the audio.
 */
export class FrameSampler implements FrameSink {
  readonly #options: FrameSamplerOptions
  /** Tells whether tracks are the same as before. */
  #init: Buffer = Buffer.alloc(0)
  #tracks: readonly Mp4Track[] = []
  #lead: Mp4Track | undefined
  #waitsForKey = true
  /** Audio that came before that keyframe. */
  #early: Frame[] = []
  #pending: Pending | null = null
  #usualUs = USUAL_US
  /** The latest keyframe of the video. */
  #key: Frame | null = null
  /** In the video, beside audio. */
  readonly #gap = new TrackGap(AUDIO_STEP_MAX_US)
  readonly #budget = new FillBudget()
  /** From the frame before the latest to the latest, gaps included. */
  #stepUs = 0
  /** Added to a time of the source it gives the time of the stream. */
  #offsetUs = 0
  #endUs = 0
  /** Where the first frame of this run is in the stream. */
  #runStartUs = 0
  /** How much later the first frame is shown than decoded. */
  #reorderingUs = 0
  /** The times of the lead, when it is audio. */
  #leadClock: AudioClock | null = null
  /** The audio beside the lead, by the names of its tracks. */
  readonly #audio = new Map<string, { readonly id: number; readonly clock: AudioClock }>()

  constructor(options: FrameSamplerOptions) {
    this.#options = options
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const described = mp4Tracks(codecsOf(tracks) === '' ? [] : tracks)
    const init = initOf(described)
    if (init.equals(this.#init)) return
    this.discontinue()
    this.#init = init
    this.#tracks = described
    this.#lead = described.find(({ info }) => info.kind === 'video') ?? described[0]
    this.#leadClock = this.#newLeadClock()
  }

  /** What comes next begins with a keyframe, after a discontinuity. */
  discontinue(end: RunEnd = {}): void {
    this.#flush(end)
    this.#gap.reset()
    this.#waitsForKey = true
    this.#early = []
    this.#options.packager.discontinue()
    this.#leadClock = this.#newLeadClock()
    this.#options.ends?.()
  }

  /** Up to where the latest keyframe would be shown again if the run were over, microseconds. Null: no video is missing. */
  get gapEndUs(): number | null {
    return this.#gap.isOpen ? this.#gap.endUs : null
  }

  /** Where the stream has got to, microseconds. */
  get endUs(): number {
    return this.#endUs
  }

  frame(frame: Frame): void {
    if (frame.kind === this.#lead?.info.kind) this.#leadFrame(this.#leadClock?.exact(frame) ?? frame, this.#lead)
    else if (!this.#waitsForKey) this.#audioBeside(frame)
    else if (this.#early.push(frame) > EARLY_MAX * Math.max(1, this.#tracks.length - 1)) this.#early.shift()
  }

  end(): void {
    this.#flush()
    this.#options.packager.end()
  }

  #leadFrame(frame: Frame, lead: Mp4Track): void {
    if (this.#gap.isOpen && !this.#isBack(frame)) return
    this.#gap.came()
    if (frame.isJump === true) this.#jump()
    else if (this.#pending !== null) this.#settle(this.#pending, frame, lead)
    if (this.#waitsForKey && !frame.key) return
    const begins = this.#waitsForKey
    if (begins) this.#begin(frame)
    if (frame.key) this.#key = frame
    const startUs = this.#pending === null ? frame.decodeTimeUs + this.#offsetUs : this.#endUs
    this.#pending = { frame, dtsUs: Math.max(startUs, this.#endUs) }
    this.#options.taken?.(frame)
    if (!begins) return
    this.#runStartUs = this.#pending.dtsUs
    for (const audio of this.#early.splice(0)) this.#audioFrame(audio)
  }

  /** What comes next is from another clock of the source. */
  #jump(): void {
    if (this.#pending === null) return
    this.discontinue()
    this.#options.hasGap(false)
  }

  /** The frame lasts until the next one, unless there is a gap. */
  #settle(pending: Pending, next: Frame, lead: Mp4Track): void {
    const stepUs = next.decodeTimeUs + this.#offsetUs - pending.dtsUs
    const stepBeforeUs = this.#stepUs
    this.#stepUs = stepUs
    const { packager, isContinuous = false } = this.#options
    if (!isContinuous && isGap(stepUs / US, stepBeforeUs / US, packager.longestSeconds)) {
      this.discontinue()
      return this.#options.hasGap(stepUs < 0)
    }
    // Two frames never have the same time.
    const lengthUs = Math.max(stepUs, US / 1000)
    this.#emit(pending, lengthUs, lead)
    if (stepUs > 0) this.#usualUs = stepUs
    packager.before(next)
  }

  /** What is pending gets the usual length. What is shown again lasts as long as there is audio. */
  #flush({ untilUs = Number.POSITIVE_INFINITY, gapEndUs = this.gapEndUs }: RunEnd = {}): void {
    if (this.#pending !== null && this.#lead) {
      const leftUs = Math.max(LEAST_US, untilUs - this.#pending.dtsUs)
      this.#emit(this.#pending, Math.min(this.#usualUs, leftUs), this.#lead)
    }
    this.#pending = null
    if (gapEndUs !== null && this.#gap.isOpen) this.#repeatUntil(gapEndUs)
  }

  #audioBeside(frame: Frame): void {
    this.#audioFrame(frame)
    // Only the first audio is in all renditions of a source.
    if (frame.audioIndex !== undefined) return
    this.#gap.clock(frame.timeUs + this.#offsetUs)
    if (!this.#gap.isOpen && !this.#opensGap()) return
    const untilUs = this.#affordable(this.#gap.fillUntilUs)
    while (this.#endUs + this.#repeatUs <= untilUs) this.#repeat(this.#repeatUs)
  }

  /** Video has been missing for so long that its keyframe is shown again. */
  #opensGap(): boolean {
    const { packager, nowMs, sendsVideo } = this.#options
    const isMissing = isGap(this.#gap.lengthUs / US, this.#stepUs / US, packager.longestSeconds) && !sendsVideo?.()
    if (!isMissing || this.#pending === null || packager.repeatSeconds === null || nowMs === undefined) return false
    if (!this.#gap.isConfirmed(nowMs())) return false
    this.#flush()
    this.#gap.open(this.#endUs)
    return true
  }

  /** Video is back. False: it is no keyframe, or older than what was shown. A process gives its last frame with the next. */
  #isBack({ key, decodeTimeUs }: Frame): boolean {
    const { packager, hasGap, offsetOf } = this.#options
    // Renditions of one source have the same discontinuities, so none of them begins one by itself.
    const isAlone = offsetOf === undefined
    const startUs = decodeTimeUs + this.#offsetUs
    const isLate = startUs < this.#endUs
    if (!key || (isLate && !(isAlone && this.#gap.isLateForLong()))) return false
    if (isLate || (isAlone && isGap((startUs - this.#endUs) / US, 0, packager.longestSeconds))) {
      this.discontinue()
      hasGap(isLate)
      return true
    }
    this.#repeatUntil(startUs)
    this.#gap.close()
    return true
  }

  get #repeatUs(): number {
    return fitting(this.#options.packager.repeatSeconds ?? 0)
  }

  /** How far the keyframe may be shown again, if it could be up to this. */
  #affordable(us: number): number {
    return Math.min(us, this.#endUs + this.#budget.leftUs(this.#options.nowMs?.() ?? 0))
  }

  #repeatUntil(endUs: number): void {
    const us = this.#affordable(endUs)
    while (us - this.#endUs >= REST_US) this.#repeat(Math.min(us - this.#endUs, this.#repeatUs))
    const { packager } = this.#options
    while (us - this.#endUs >= LEAST_US)
      this.#repeat(Math.min(us - this.#endUs, fitting(packager.repeatInSegmentSeconds)), false)
  }

  /** Shows the latest keyframe again. @param mayEndSegment whether it may begin a segment */
  #repeat(lengthUs: number, mayEndSegment = true): void {
    if (this.#key === null || this.#lead === undefined) throw new Error('there is no keyframe to show again')
    this.#budget.take(lengthUs)
    const decodeTimeUs = this.#endUs - this.#offsetUs
    const frame = { ...this.#key, decodeTimeUs, timeUs: decodeTimeUs + this.#reorderingUs }
    this.#options.packager.repeat(this.#sampleOf({ frame, dtsUs: this.#endUs }, lengthUs, this.#lead), mayEndSegment)
    this.#options.taken?.(frame)
  }

  #newLeadClock(): AudioClock | null {
    return this.#lead?.info.kind === 'audio' ? new AudioClock(this.#lead.info) : null
  }

  #begin({ decodeTimeUs, timeUs }: Frame): void {
    this.#waitsForKey = false
    const { offsetOf, begins } = this.#options
    this.#offsetUs = offsetOf?.(decodeTimeUs, this.#endUs) ?? this.#endUs - decodeTimeUs
    this.#reorderingUs = timeUs - decodeTimeUs
    this.#audio.clear()
    for (const { id, info } of this.#tracks)
      if (info.kind === 'audio' && id !== this.#lead?.id)
        this.#audio.set(trackKey(info), { id, clock: new AudioClock(info) })
    const shownUs = this.#reorderingUs - this.#offsetUs
    begins?.({ tracks: this.#tracks.map(({ info }) => info), startUs: timeUs, offsetUs: this.#offsetUs })
    this.#options.packager.begin(this.#tracks, (mediaMs) => this.#options.dateOf(mediaMs + shownUs / 1000))
  }

  #emit(pending: Pending, lengthUs: number, lead: Mp4Track): void {
    this.#options.packager.add(lead.id, this.#sampleOf(pending, lengthUs, lead))
  }

  #sampleOf({ frame, dtsUs }: Pending, lengthUs: number, { timescale }: Mp4Track): Sample {
    this.#endUs = dtsUs + lengthUs
    const ticks = (us: number): number => Math.round((us * timescale) / US)
    const dts = ticks(dtsUs)
    const { key, data, timeUs, beginsSegment } = frame
    const pts = Math.max(dts, ticks(timeUs + this.#offsetUs))
    return { dts, pts, duration: ticks(this.#endUs) - dts, key, data, beginsSegment }
  }

  /** Audio from before the first frame of a run is left out, also when it comes late. */
  #audioFrame(frame: Frame): void {
    const at = frame.timeUs + this.#offsetUs
    const audio = this.#audio.get(trackKey(frame))
    if (audio === undefined || at < this.#runStartUs) return
    const sample = audio.clock.sampleAt(at, frame.data)
    if (sample !== null) this.#options.packager.add(audio.id, sample)
  }
}

/** A frame of most encoders: 1024 samples at 48 kHz. Those of low rates are several times as long. */
const AUDIO_OFF_MAX_SECONDS = 1024 / 48_000

/**
 * Times of audio. Those of RTMP are whole milliseconds, and a frame has an exact number of samples: so a frame follows the
 * one before it, unless it is further off than this, or than a frame.
 */
class AudioClock {
  readonly #rate: number
  readonly #track: AudioTrack
  #next: number | null = null

  constructor(track: AudioTrack) {
    this.#rate = track.sampleRate
    this.#track = track
  }

  /** The frame with its exact time. */
  exact(frame: Frame): Frame {
    const sample = this.sampleAt(frame.timeUs, frame.data)
    if (sample === null) return frame
    const timeUs = (sample.dts * US) / this.#rate
    return { ...frame, timeUs, decodeTimeUs: timeUs }
  }

  /** Null: the frame overlaps the one before it, and is dropped. */
  sampleAt(us: number, data: Uint8Array): Sample | null {
    const exact = Math.round((us * this.#rate) / US)
    const next = this.#next ?? exact
    const length = samplesIn(this.#track, data)
    if (exact < next - length) return null
    const dts = exact > next + Math.min(length, AUDIO_OFF_MAX_SECONDS * this.#rate) ? exact : next
    this.#next = dts + length
    return { dts, pts: dts, duration: length, key: true, data }
  }
}
