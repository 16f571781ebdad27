import type { Clock } from '../../base/clock.ts'
import type { Frame } from '../frame.ts'

/** Sound that is later than this is not waited for any more. */
const WAIT_MAX_MS = 200
/** And again when it is no further behind than this; sound that always is would have pictures come in bursts. */
const IN_REACH_US = 150_000

/**
 * Lets pictures wait for the sound of their time, which is late by its conversion: a browser that gets one before the other
 * brings them together by 10 ms a second or so, and the more slowly the more it has to do.
 */
export class InStep {
  readonly #clock: Clock
  readonly #pass: (frame: Frame) => void
  #waiting: { readonly picture: Frame; readonly dueMs: number }[] = []
  /** Until when there was sound; null: none is waited for. */
  #audioUs: number | null = null
  #videoUs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, pass: (frame: Frame) => void) {
    this.#clock = clock
    this.#pass = pass
  }

  picture(picture: Frame): void {
    this.#waiting.push({ picture, dueMs: this.#clock.monotonic() + WAIT_MAX_MS })
    this.#release()
  }

  sound(sound: Frame): void {
    this.#pass(sound)
    const isInReach = sound.timeUs >= this.#videoUs - IN_REACH_US
    if (this.#audioUs !== null || isInReach) this.#audioUs = sound.timeUs
    this.#release()
  }

  /** What waits goes on at once: other times begin, or nothing comes any more. */
  flush(): void {
    this.#audioUs = null
    this.#release()
  }

  /** Frames come often enough for a look at the clock with each; no timer is needed. */
  #release(): void {
    const nowMs = this.#clock.monotonic()
    if (nowMs >= (this.#waiting[0]?.dueMs ?? Number.POSITIVE_INFINITY)) this.#audioUs = null
    const until = this.#audioUs ?? Number.POSITIVE_INFINITY
    const found = this.#waiting.findIndex(({ picture }) => picture.decodeTimeUs > until)
    const ready = this.#waiting.splice(0, found === -1 ? this.#waiting.length : found)
    for (const { picture } of ready) {
      this.#videoUs = picture.decodeTimeUs
      this.#pass(picture)
    }
  }
}
