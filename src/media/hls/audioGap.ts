import type { Clock } from '../../base/clock.ts'
import { samplesIn } from '../codecs/audioFrames.ts'
import { silentFrame } from '../codecs/silence.ts'
import { FillBudget } from '../fillBudget.ts'
import { type AudioTrack, type Frame, type FrameSink, type TrackInfo, trackKey } from '../frame.ts'
import { TrackGap } from './trackGap.ts'

/**
 * Audio that is missing for longer is filled while it is missing, soon enough for players of low-latency HLS, which are 1.5 seconds
 * behind. Encoders over SRT that send little audio send it once in 0.7 seconds, which is shorter than this and its confirmation.
 */
const GAP_US = 600_000
/** A shorter hole is filled when it is over. */
const HOLE_MAX_US = 2_000_000
/** Sums of lengths are not exact. */
const ROUNDING_US = 1
/** In a longer pause of the video there is nothing to fill: the stream goes on after a discontinuity. */
const VIDEO_STEP_MAX_US = 1_500_000

/**
 * Puts silence where a source with video sends no audio, also before it sends any: players stop where one of the tracks of a stream
 * ends, and ffmpeg begins when each track has. Audio that comes too late for that is left out.
 */
export class AudioGap implements FrameSink {
  readonly #out: FrameSink
  readonly #clock: Pick<Clock, 'monotonic'>
  /** By the names of their tracks; none: there is nothing to fill. */
  #filled: ReadonlyMap<string, FilledTrack> = new Map()

  constructor(out: FrameSink, clock: Pick<Clock, 'monotonic'>) {
    this.#out = out
    this.#clock = clock
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const hasVideo = tracks.some(({ kind }) => kind === 'video')
    const audio = tracks.filter((track) => track.kind === 'audio')
    this.#filled = new Map(hasVideo ? audio.flatMap((track) => this.#filledOf(track)) : [])
    this.#out.tracks(tracks)
  }

  frame(frame: Frame): void {
    const nowMs = this.#clock.monotonic()
    const isTaken = this.#filled.get(trackKey(frame))?.takes(frame, nowMs) ?? true
    if (isTaken) this.#out.frame(frame)
    if (frame.kind === 'audio') return
    for (const track of this.#filled.values()) track.video(frame.decodeTimeUs, nowMs)
  }

  end(): void {
    this.#out.end()
  }

  #filledOf(track: AudioTrack): [string, FilledTrack][] {
    const silence = silentFrame(track)
    const out = (frame: Frame): void => this.#out.frame(frame)
    return silence === null ? [] : [[trackKey(track), new FilledTrack(track, silence, out)]]
  }
}

/** One track of audio. */
class FilledTrack {
  readonly #track: AudioTrack
  readonly #silence: Uint8Array
  readonly #out: (frame: Frame) => void
  readonly #gap = new TrackGap(VIDEO_STEP_MAX_US)
  /** The time at which audio is due; null: before the first frame. */
  #dueUs: number | null = null
  /** Audio or silence came. */
  #hasBegun = false
  readonly #budget = new FillBudget()

  constructor(track: AudioTrack, silence: Uint8Array, out: (frame: Frame) => void) {
    this.#track = track
    this.#silence = silence
    this.#out = out
  }

  video(timeUs: number, nowMs: number): void {
    const dueUs = (this.#dueUs ??= timeUs)
    this.#gap.clock(timeUs)
    if (!this.#gap.isOpen) {
      if (this.#gap.lengthUs <= GAP_US || !this.#gap.isConfirmed(nowMs)) return
      this.#gap.open(dueUs)
    }
    this.#fill(dueUs, this.#gap.fillUntilUs, nowMs)
  }

  /** Whether a frame of audio is taken. What was missing before it is filled. */
  takes({ timeUs, data }: Frame, nowMs: number): boolean {
    this.#gap.came()
    const lengthUs = this.#lengthOf(data)
    const dueUs = this.#dueUs ?? timeUs
    if (this.#gap.isOpen && timeUs < dueUs - lengthUs / 2) {
      // More silence follows what was filled if no other frame comes.
      this.#gap.open(dueUs)
      return false
    }
    if (this.#gap.isOpen || timeUs - dueUs <= HOLE_MAX_US) {
      this.#fill(this.#hasBegun ? dueUs : this.#silentFrom(dueUs, timeUs), timeUs, nowMs)
    }
    this.#gap.close()
    this.#hasBegun = true
    this.#dueUs = timeUs + lengthUs
    return true
  }

  /** Silence that ends where the first audio begins: the times of all that follows count from its begin. */
  #silentFrom(dueUs: number, untilUs: number): number {
    const lengthUs = this.#lengthOf(this.#silence)
    const count = Math.floor((untilUs - dueUs + ROUNDING_US) / lengthUs)
    return count > 0 ? untilUs - count * lengthUs : dueUs
  }

  /** In whole frames. */
  #fill(fromUs: number, untilUs: number, nowMs: number): void {
    const endUs = Math.min(untilUs, fromUs + this.#budget.leftUs(nowMs))
    const lengthUs = this.#lengthOf(this.#silence)
    const { audioIndex } = this.#track
    const of = { kind: 'audio', ...(audioIndex !== undefined && { audioIndex }) } as const
    let dueUs = fromUs
    for (; dueUs + lengthUs <= endUs + ROUNDING_US; dueUs += lengthUs) {
      const timeUs = Math.round(dueUs)
      this.#hasBegun = true
      this.#out({ ...of, timeUs, decodeTimeUs: timeUs, key: true, data: this.#silence })
    }
    this.#budget.take(dueUs - fromUs)
    this.#dueUs = dueUs
  }

  #lengthOf(data: Uint8Array): number {
    return (samplesIn(this.#track, data) * 1_000_000) / this.#track.sampleRate
  }
}
