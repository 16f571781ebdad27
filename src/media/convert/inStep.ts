import type { Clock } from '../../base/clock.ts'
import { type Frame, trackKey } from '../frame.ts'

/** Video does not wait for audio that is later than this, unless the caller says otherwise. */
const WAIT_MAX_MS = 200
/** Video waits again once audio is no further behind than this; waiting for audio that is always late causes bursts. */
const IN_REACH_US = 150_000

interface Lateness {
  /** The longest wait for audio, milliseconds. */
  readonly waitMs?: number
  /** How much later audio is, and may be, because it came in bursts (`EvenAudio`), milliseconds. */
  readonly burstMs?: () => number
}

/**
 * Delays video frames until the audio of the same time arrives, of all audio tracks, which is late by its conversion. A browser that gets one
 * before the other corrects only about 10 ms a second, and less under load.
 */
export class InStep {
  readonly #clock: Clock
  readonly #pass: (frame: Frame) => void
  readonly #waitMs: number
  readonly #burstMs: () => number
  #waiting: { readonly video: Frame; readonly dueMs: number }[] = []
  /** Time of the latest audio of each track that video waits for. */
  readonly #audioUs = new Map<string, number>()
  #videoUs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, pass: (frame: Frame) => void, { waitMs = WAIT_MAX_MS, burstMs = () => 0 }: Lateness = {}) {
    this.#clock = clock
    this.#pass = pass
    this.#waitMs = waitMs
    this.#burstMs = burstMs
  }

  video(video: Frame): void {
    this.#waiting.push({ video, dueMs: this.#clock.monotonic() + this.#waitMs + this.#burstMs() })
    this.#release()
  }

  audio(audio: Frame): void {
    this.#pass(audio)
    const isInReach = audio.timeUs >= this.#videoUs - IN_REACH_US - this.#burstMs() * 1000
    const key = trackKey(audio)
    if (this.#audioUs.has(key) || isInReach) this.#audioUs.set(key, audio.timeUs)
    this.#release()
  }

  /** The first audio comes next: video waits for it. */
  begin(): void {
    this.#audioUs.set('audio', Number.NEGATIVE_INFINITY)
  }

  /** Releases all frames at once: the clock changes, or the source ended. */
  flush(): void {
    this.#audioUs.clear()
    this.#release()
  }

  /** Called with each frame, which is often enough; no timer is needed. */
  #release(): void {
    const nowMs = this.#clock.monotonic()
    if (nowMs >= (this.#waiting[0]?.dueMs ?? Number.POSITIVE_INFINITY)) this.#audioUs.clear()
    const until = Math.min(...this.#audioUs.values())
    const found = this.#waiting.findIndex(({ video }) => video.decodeTimeUs > until)
    const ready = this.#waiting.splice(0, found === -1 ? this.#waiting.length : found)
    for (const { video } of ready) {
      this.#videoUs = video.decodeTimeUs
      this.#pass(video)
    }
  }
}
