import type { Clock } from '../../base/clock.ts'
import { InStep } from '../convert/inStep.ts'
import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { COPY_SEGMENT_MAX_SECONDS, CHANNEL_SEGMENT_SECONDS } from '../../core/hls/channel.ts'
import { SegmentMarks } from '../../core/hls/segmentMarks.ts'
import { type Break, Lockstep } from './lockstep.ts'

/** Takes the renditions of one process. */
export interface LadderSink {
  /** One for each rung, with the audio of all; the first one gets further audio tracks, too. `end` is not called. */
  readonly rungs: readonly Pick<FrameSink, 'tracks' | 'frame'>[]
  /** What follows does not continue what came before; it begins with a keyframe in all rungs. */
  discontinue(before: Break): void
}

export interface EncodedLadderOptions {
  readonly clock: Clock
  /** Whether the process makes audio. */
  readonly hasAudio: boolean
  /** The indexes of audio tracks that it makes beside the first one, whose format they have. */
  readonly further?: readonly number[]
  /** The rung that is copied from the source, and whose keyframes the others follow; null: all are encoded. */
  readonly copied: number | null
  readonly out: LadderSink
}

const COPY_MARKS = { segmentSeconds: CHANNEL_SEGMENT_SECONDS, maxSeconds: COPY_SEGMENT_MAX_SECONDS }

/** Video waits for the first audio this long. Then it begins without, and audio comes after a discontinuity. */
const FIRST_AUDIO_US = 2_000_000
/**
 * Later, video waits for late audio this long. Players would have to wait for it too, and parts of the audio alone are as
 * long as they say.
 */
const LATE_AUDIO_MS = 1000
/** The most audio of a track that waits for the first video: 20 seconds. */
const EARLY_MAX = 1024

/** Joins what one process writes to several pipes: the video of each rung, and one audio, which each rung gets. */
export class EncodedLadder {
  readonly #options: EncodedLadderOptions
  readonly #lockstep: Lockstep
  readonly #further: readonly number[]
  readonly #steps: readonly InStep[]
  readonly #video: (TrackInfo | undefined)[]
  #audio: TrackInfo | null = null
  /** Audio before the first video; null: it passes. */
  #early: Frame[] | null = []
  #hasNewTracks = true
  #isOpen = false
  #isOver = false
  readonly #firstUs: (number | undefined)[]
  readonly #latestUs: number[]
  /** Where segments begin in all rungs; null: at all keyframes. */
  readonly #marks: SegmentMarks | null
  /** How much later the first frame of the group at hand is shown than decoded. */
  readonly #reorderingUs: number[]

  constructor(options: EncodedLadderOptions) {
    const { clock, out, copied, further = [] } = options
    this.#options = options
    this.#further = further
    this.#marks = copied === null ? null : new SegmentMarks(out.rungs.length, COPY_MARKS)
    this.#reorderingUs = out.rungs.map(() => 0)
    this.#steps = out.rungs.map((rung) => new InStep(clock, (frame) => rung.frame(frame), { waitMs: LATE_AUDIO_MS }))
    this.#video = out.rungs.map(() => undefined)
    this.#firstUs = out.rungs.map(() => undefined)
    this.#latestUs = out.rungs.map(() => 0)
    this.#lockstep = new Lockstep(
      out.rungs.length,
      {
        begin: (before) => this.#begin(before),
        pass: (rung, frame) => this.#steps[rung]?.video(this.#marked(rung, frame)),
      },
      copied,
    )
  }

  /** Media that all rungs have, milliseconds. */
  get encodedMs(): number {
    const { copied } = this.#options
    const lengths = this.#latestUs.map((latest, at) => latest - (this.#firstUs[at] ?? latest))
    const encoded = lengths.filter((_, at) => at !== copied)
    return Math.min(...(encoded.length > 0 ? encoded : lengths)) / 1000
  }

  videoTrack(rung: number, track: TrackInfo): void {
    this.#video[rung] = track
    this.#hasNewTracks = true
    this.#openWhenReady()
  }

  audioTrack(track: TrackInfo): void {
    this.#audio = track
    this.#hasNewTracks = true
    this.#openWhenReady()
  }

  video(rung: number, frame: Frame): void {
    if (this.#isOver) return
    this.#firstUs[rung] ??= frame.decodeTimeUs
    this.#latestUs[rung] = frame.decodeTimeUs
    this.#lockstep.frame(rung, frame)
    if (!this.#isOpen) this.#openWhenReady()
  }

  audio(frame: Frame): void {
    if (this.#isOver) return
    if (this.#early === null) return this.#passAudio(frame)
    this.#early.push(frame)
    if (this.#early.length > EARLY_MAX * (1 + this.#further.length)) this.#early.shift()
  }

  /** The process is gone. What only some rungs have is left out. */
  end(): void {
    this.#isOver = true
    for (const step of this.#steps) step.flush()
  }

  #openWhenReady(): void {
    if (this.#isOpen || this.#video.some((track) => track === undefined)) return
    const waitsForAudio = this.#options.hasAudio && this.#audio === null
    if (waitsForAudio && this.encodedMs * 1000 < FIRST_AUDIO_US) return
    this.#isOpen = true
    this.#lockstep.open()
  }

  #marked(rung: number, frame: Frame): Frame {
    if (this.#marks === null) return frame
    if (frame.key) this.#reorderingUs[rung] = frame.timeUs - frame.decodeTimeUs
    const timeUs = frame.decodeTimeUs + (this.#reorderingUs[rung] ?? 0)
    return { ...frame, beginsSegment: this.#marks.begins(rung, { timeUs, key: frame.key }) }
  }

  #begin(before: Break): void {
    const { out } = this.#options
    if (!this.#hasNewTracks && before === 'none') return
    this.#marks?.restart()
    for (const step of this.#steps) step.flush()
    out.discontinue(before)
    if (!this.#hasNewTracks) return
    this.#hasNewTracks = false
    for (const [rung, sink] of out.rungs.entries()) sink.tracks(this.#tracksOf(rung))
    this.#passEarly()
  }

  #tracksOf(rung: number): TrackInfo[] {
    const audio = this.#audio
    const further =
      rung === 0 && audio?.kind === 'audio' ? this.#further.map((at) => ({ ...audio, audioIndex: at })) : []
    return [this.#video[rung], audio ?? undefined, ...further].filter((track) => track !== undefined)
  }

  #passEarly(): void {
    if (this.#audio === null) return
    const early = this.#early ?? []
    this.#early = null
    for (const frame of early) this.#passAudio(frame)
  }

  #passAudio(frame: Frame): void {
    for (const step of frame.audioIndex === undefined ? this.#steps : this.#steps.slice(0, 1)) step.audio(frame)
  }
}
