import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { AAC_SAMPLES } from './arguments.ts'

/** A slate, encoded: frames that play again and again. */
export interface SlateLoop {
  /** In the order of the rungs. */
  readonly rungs: readonly LoopVideo[]
  /** Frames of AAC that follow each other without a gap, one of silence or those of whole loops; null: without audio. */
  readonly audio: { readonly track: TrackInfo; readonly frames: readonly Pick<LoopFrame, 'data'>[] } | null
  readonly lengthUs: number
}

export interface LoopVideo {
  readonly track: TrackInfo
  /** The first one is a keyframe. */
  readonly frames: readonly LoopFrame[]
}

export interface LoopFrame {
  /** From the beginning of the loop, microseconds. */
  readonly atUs: number
  readonly key: boolean
  readonly data: Uint8Array
}

const US = 1_000_000
/** Audio may be ahead of video by this much. */
const STEP_US = 200_000

/** Plays a loop to a sink for each rung, as a live source would: all frames have the time of an endless source. */
export class LoopPlayer {
  readonly #loop: SlateLoop
  readonly #sinks: readonly Pick<FrameSink, 'tracks' | 'frame'>[]
  readonly #startUs: number
  /** How many frames each rung got. */
  readonly #sent: number[]
  #audioSent = 0
  #playedUs: number

  constructor(loop: SlateLoop, sinks: readonly Pick<FrameSink, 'tracks' | 'frame'>[], startUs: number) {
    this.#loop = loop
    this.#sinks = sinks
    this.#startUs = startUs
    this.#playedUs = startUs
    this.#sent = loop.rungs.map(() => 0)
    const { audio } = loop
    for (const [index, sink] of sinks.entries())
      sink.tracks([loop.rungs[index]?.track, audio?.track].filter((track) => track !== undefined))
  }

  /** Passes all frames before this time. */
  until(untilUs: number): void {
    while (this.#playedUs < untilUs) {
      this.#playedUs = Math.min(untilUs, this.#playedUs + STEP_US)
      this.#passAudio(this.#playedUs)
      for (const index of this.#sinks.keys()) this.#passVideo(index, this.#playedUs)
    }
  }

  #passAudio(untilUs: number): void {
    const { audio } = this.#loop
    if (audio?.track.kind !== 'audio') return
    const stepUs = (AAC_SAMPLES * US) / audio.track.sampleRate
    for (;;) {
      const atUs = this.#startUs + this.#audioSent * stepUs
      const frame = audio.frames[this.#audioSent % audio.frames.length]
      if (frame === undefined || atUs >= untilUs) return
      this.#audioSent += 1
      this.#pass({ kind: 'audio', key: true, timeUs: atUs, decodeTimeUs: atUs, data: frame.data })
    }
  }

  #pass(frame: Frame): void {
    for (const sink of this.#sinks) sink.frame(frame)
  }

  #passVideo(index: number, untilUs: number): void {
    const frames = this.#loop.rungs[index]?.frames ?? []
    for (;;) {
      const sent = this.#sent[index] ?? 0
      const { atUs = 0, key = false, data } = frames[sent % frames.length] ?? {}
      const timeUs = this.#startUs + Math.floor(sent / frames.length) * this.#loop.lengthUs + atUs
      if (data === undefined || timeUs >= untilUs) return
      this.#sent[index] = sent + 1
      this.#sinks[index]?.frame({ kind: 'video', key, timeUs, decodeTimeUs: timeUs, data })
    }
  }
}
