import { type Clock, pause } from '../../base/clock.ts'
import type { Frame } from '../frame.ts'

/** How late frames are, by their times, is seen in spans of this length. */
const SPAN_MS = 1000
/** So many spans are remembered. A pause of a network or a process is in one of them; bursts are in each. */
const SPANS = 3
/** Fewer milliseconds are no burst, and pass as they come. */
const BURST_MIN_MS = 60
/** A packet of MPEG-TS has no more. */
const BURST_MAX_MS = 400
/** The clock of the source has jumped, or the source stood still. */
const JUMP_MS = 1000

/** How late frames of some time were, milliseconds by an unknown offset. */
interface Span {
  readonly fromMs: number
  least: number
  most: number
}

/**
 * Passes audio at the pace of its times where it comes in bursts. Encoders over SRT send them: ffmpeg and OBS put up to 350 ms of
 * audio into one packet of MPEG-TS. As bursts, it makes the buffer of a browser grow, and what is heard is late for a minute.
 */
export class EvenAudio {
  readonly #clock: Clock
  readonly #pass: (frame: Frame) => void
  readonly #stopping = new AbortController()
  /** The latest last. */
  #spans: Span[] = []
  #queue: Frame[] = []
  #isWaiting = false

  constructor(clock: Clock, pass: (frame: Frame) => void) {
    this.#clock = clock
    this.#pass = pass
  }

  /** How long the first frame of a burst waited for its packet, milliseconds, and every frame waits as long; 0: there are no bursts. */
  get burstMs(): number {
    const { least, most } = this.#usual()
    const burstMs = most - least
    return burstMs >= BURST_MIN_MS && burstMs <= BURST_MAX_MS ? burstMs : 0
  }

  frame(frame: Frame): void {
    this.#note(this.#clock.monotonic() - frame.timeUs / 1000)
    this.#queue.push(frame)
    this.#release()
  }

  /** Passes what waits, and everything that comes later at once. */
  stop(): void {
    this.#stopping.abort()
    this.#release()
  }

  #note(lateMs: number): void {
    const nowMs = this.#clock.monotonic()
    const latest = this.#spans.at(-1)
    const isJump = latest !== undefined && (lateMs > latest.most + JUMP_MS || lateMs < latest.least - JUMP_MS)
    if (isJump) this.#spans = []
    if (latest === undefined || isJump || nowMs >= latest.fromMs + SPAN_MS) {
      this.#spans = [...this.#spans.slice(-SPANS), { fromMs: nowMs, least: lateMs, most: lateMs }]
      return
    }
    latest.least = Math.min(latest.least, lateMs)
    latest.most = Math.max(latest.most, lateMs)
  }

  /** Of the spans that are over, or else of the first one. */
  #usual(): Pick<Span, 'least' | 'most'> {
    const over = this.#spans.length > 1 ? this.#spans.slice(0, -1) : this.#spans
    if (over.length === 0) return { least: 0, most: 0 }
    return { least: Math.min(...over.map(({ least }) => least)), most: Math.min(...over.map(({ most }) => most)) }
  }

  /** How late frames pass, by their times, milliseconds; those that are later pass at once. */
  get #paceMs(): number {
    const isPaced = this.burstMs > 0 && !this.#stopping.signal.aborted
    return isPaced ? this.#usual().most : Number.NEGATIVE_INFINITY
  }

  #release(): void {
    const untilMs = this.#clock.monotonic() - this.#paceMs
    const found = this.#queue.findIndex(({ timeUs }) => timeUs / 1000 > untilMs)
    const due = this.#queue.splice(0, found === -1 ? this.#queue.length : found)
    for (const frame of due) this.#pass(frame)
    if (this.#queue.length > 0 && !this.#isWaiting) void this.#wait()
  }

  async #wait(): Promise<void> {
    this.#isWaiting = true
    for (let [first] = this.#queue; first !== undefined; [first] = this.#queue) {
      const dueMs = first.timeUs / 1000 + this.#paceMs
      await pause(this.#clock, dueMs - this.#clock.monotonic(), this.#stopping.signal)
      this.#release()
    }
    this.#isWaiting = false
  }
}
