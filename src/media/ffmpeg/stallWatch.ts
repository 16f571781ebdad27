import type { Clock } from '../../base/clock.ts'
import { type ProcessLooks, Starvation } from '../../base/processors.ts'
import type { FfmpegProcess } from './ffmpeg.ts'

/**
 * So much of the time between two frames counts; the rest is a pause, in which the process has no input. Decoders may wait for
 * some frames more, however long these take to come.
 */
const FRAME_MS = 1000

/** Finds out that a process takes frames and gives no output. */
export class StallWatch {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #stallMs: number
  readonly #starvation: Starvation
  /** Since when the process has taken frames without output; null: it keeps up. */
  #silentSinceMs: number | null = null
  /** Of that time, the pauses. Milliseconds. */
  #pausedMs = 0
  #fedAtMs = 0
  /** It takes no more. */
  #isFull = false

  /**
   * @param stallMs a process that takes frames without output for this long hangs, unless it waits for a processor, and has used
   * less of it than this
   * @param looks what is known of a process; default: what the system says
   */
  constructor(clock: Pick<Clock, 'monotonic'>, stallMs: number, looks?: ProcessLooks) {
    this.#clock = clock
    this.#stallMs = stallMs
    this.#starvation = new Starvation(stallMs, looks)
  }

  /** A frame was written to the process. @param isTaken false: too much waits for it, so that later frames are not written */
  fed(isTaken: boolean): void {
    const nowMs = this.#clock.monotonic()
    if (this.#silentSinceMs === null) [this.#silentSinceMs, this.#pausedMs] = [nowMs, 0]
    else if (!this.#isFull) this.#pausedMs += Math.max(0, nowMs - this.#fedAtMs - FRAME_MS)
    this.#fedAtMs = nowMs
    this.#isFull = !isTaken
  }

  /** The process gave output, or there is another one. */
  moved(): void {
    this.#silentSinceMs = null
    this.#isFull = false
  }

  /** Kills the process if it hangs. Call it about every second. True: it did. */
  async check(process: Pick<FfmpegProcess, 'pid' | 'stop'>): Promise<boolean> {
    const [{ pid }, sinceMs] = [process, this.#silentSinceMs]
    if (sinceMs === null) return false
    const nowMs = this.#clock.monotonic()
    const countsSinceMs = pid === null ? sinceMs : await this.#starvation.countsSince(pid, sinceMs, nowMs)
    const untilMs = this.#isFull ? nowMs : this.#fedAtMs
    if (this.#silentSinceMs !== sinceMs || untilMs - countsSinceMs - this.#pausedMs < this.#stallMs) return false
    this.#silentSinceMs = null
    void process.stop(0)
    return true
  }
}
