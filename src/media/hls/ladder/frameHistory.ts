import type { Frame } from '../../frame.ts'

/** Ten seconds at 60 frames a second, and as much until a slow encoder is given up. */
const FRAMES_MAX = 1200
/** 16 Mbit/s for as long. */
export const HISTORY_BYTES_MAX = 40_000_000

/** The video of a source that an encoder may need once more: from a keyframe on. */
export class FrameHistory {
  #frames: Frame[] = []
  #bytes = 0
  #isLost = false

  /** Null: too much would be needed, so an encoder can only begin again. */
  get frames(): readonly Frame[] | null {
    return this.#isLost ? null : this.#frames
  }

  add(frame: Frame): void {
    this.#frames.push(frame)
    this.#bytes += frame.data.length
    if (this.#frames.length <= FRAMES_MAX && this.#bytes <= HISTORY_BYTES_MAX) return
    this.#isLost = true
    this.#frames = []
    this.#bytes = 0
  }

  /** Everything up to this presentation time is encoded; null: nothing is. Forgets what is not needed to go on from there. */
  encoded(untilUs: number | null): void {
    const found = untilUs === null ? -1 : this.#frames.findLastIndex(({ key, timeUs }) => key && timeUs <= untilUs)
    // After frames were lost, those from the next keyframe on are complete.
    if (found > 0 || (found === 0 && this.#isLost)) this.#isLost = false
    for (const { data } of this.#frames.splice(0, Math.max(0, found))) this.#bytes -= data.length
  }
}
