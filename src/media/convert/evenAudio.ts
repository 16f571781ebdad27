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
/** A frame of converted audio. Those of a source have another length, so a burst may be longer by one once it is converted. */
const FRAME_MS = 20

/** How late frames of some time were, milliseconds by an unknown offset. */
interface Span {
  readonly fromMs: number
  least: number
  most: number
}

/**
 * How late the audio of a source comes, by its times. Encoders over SRT send it in bursts: ffmpeg and OBS put up to 350 ms of audio
 * into one packet of MPEG-TS.
 */
export class AudioLateness {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The latest last. */
  #spans: Span[] = []

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  note({ timeUs }: Frame): void {
    const nowMs = this.#clock.monotonic()
    const lateMs = nowMs - timeUs / 1000
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

  /** How long the first frame of a burst waited for its packet, milliseconds; 0: there are no bursts. */
  get burstMs(): number {
    const burstMs = Math.min(...this.#usual.map(({ most }) => most)) - this.leastMs
    return burstMs >= BURST_MIN_MS && burstMs <= BURST_MAX_MS ? burstMs : 0
  }

  /** Of the last frame of a burst, milliseconds by an unknown offset; infinite: nothing came yet. */
  get leastMs(): number {
    return Math.min(...this.#usual.map(({ least }) => least))
  }

  /** The spans that are over, or else the first one. */
  get #usual(): readonly Span[] {
    return this.#spans.length > 1 ? this.#spans.slice(0, -1) : this.#spans
  }
}

/**
 * Passes audio at the pace of its times where it comes in bursts: every frame waits as long as the first one of a burst has. As bursts,
 * it makes the buffer of a browser grow, and what is heard is late for a minute.
 */
export class EvenAudio {
  readonly #clock: Clock
  readonly #source: Pick<AudioLateness, 'burstMs'>
  readonly #pass: (frame: Frame) => void
  readonly #lateness: AudioLateness
  readonly #stopping = new AbortController()
  #queue: Frame[] = []
  #isWaiting = false

  /** @param source before the conversion, whose beginning would look like a burst */
  constructor(clock: Clock, source: Pick<AudioLateness, 'burstMs'>, pass: (frame: Frame) => void) {
    this.#clock = clock
    this.#source = source
    this.#pass = pass
    this.#lateness = new AudioLateness(clock)
  }

  frame(frame: Frame): void {
    this.#lateness.note(frame)
    this.#queue.push(frame)
    this.#release()
  }

  /** Passes what waits, and everything that comes later at once. */
  stop(): void {
    this.#stopping.abort()
    this.#release()
  }

  /** How late frames pass, by their times, milliseconds; those that are later pass at once. */
  get #paceMs(): number {
    const { burstMs } = this.#source
    const isPaced = burstMs > 0 && !this.#stopping.signal.aborted
    return isPaced ? this.#lateness.leastMs + burstMs + FRAME_MS : Number.NEGATIVE_INFINITY
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
      // The last frame of the first burst shows that the first one waits for less.
      const leftMs = Math.max(0, dueMs - this.#clock.monotonic())
      await pause(this.#clock, Math.min(FRAME_MS, leftMs), this.#stopping.signal)
      this.#release()
    }
    this.#isWaiting = false
  }
}
