import type { Frame, TrackInfo } from '../frame.ts'
import type { LadderSink } from './encodedLadder.ts'

/** Gives the audio of a process that makes no video to each rendition. */
export class EncodedAudio {
  readonly #out: LadderSink
  #isOver = false
  #firstUs: number | null = null
  #latestUs = 0

  constructor(out: LadderSink) {
    this.#out = out
  }

  /** Media so far, milliseconds. */
  get encodedMs(): number {
    return (this.#latestUs - (this.#firstUs ?? this.#latestUs)) / 1000
  }

  track(track: TrackInfo): void {
    this.#out.discontinue('none')
    for (const rung of this.#out.rungs) rung.tracks([track])
  }

  frame(frame: Frame): void {
    if (this.#isOver) return
    this.#firstUs ??= frame.timeUs
    this.#latestUs = frame.timeUs
    for (const rung of this.#out.rungs) rung.frame(frame)
  }

  /** The process is gone. */
  end(): void {
    this.#isOver = true
  }
}
