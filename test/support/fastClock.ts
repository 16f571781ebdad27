import { type Clock, ManualClock } from '../../src/base/clock.ts'

const TICK_MS = 10
/** A process that did not run for longer than this stands still for the rest: no time passes that it could not use. */
const STEP_MAX_MS = 2 * TICK_MS
/** While something is behind. Time goes on, because it may wait for a pause to end. */
const CRAWL = 0.25

/**
 * The time of a stream, several times as fast as that of the machine. It passes in small steps, one for each turn of the event
 * loop, and crawls while an encoder is behind: what is late on this clock is late on any machine. `close` ends it.
 * What a product does only for so long, such as to wait for another process, comes in time on any machine while it is slow.
 */
export class FastClock implements Clock {
  speed: number
  readonly #clock = new ManualClock(Date.now())
  readonly #timer: NodeJS.Timeout
  readonly #checks = new Set<() => boolean>()
  readonly #limits = new Set<{ readonly speed: number }>()
  #atMs = performance.now()

  constructor(speed = 4) {
    this.speed = speed
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  now(): number {
    return Math.floor(this.#clock.now())
  }

  monotonic(): number {
    return this.#clock.monotonic()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal)
  }

  /** Returns the end of it. */
  crawlWhile(isBehind: () => boolean): () => void {
    this.#checks.add(isBehind)
    return () => void this.#checks.delete(isBehind)
  }

  /** Time passes no faster than this meanwhile; 0: it stands still. */
  async slowly<T>(speed: number, run: () => Promise<T>): Promise<T> {
    const limit = { speed }
    this.#limits.add(limit)
    try {
      return await run()
    } finally {
      this.#limits.delete(limit)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const nowMs = performance.now()
    const stepMs = Math.min(STEP_MAX_MS, nowMs - this.#atMs)
    this.#atMs = nowMs
    const isBehind = [...this.#checks].some((check) => check())
    const limits = [...this.#limits].map(({ speed }) => speed)
    this.#clock.advance(stepMs * Math.min(isBehind ? CRAWL : this.speed, ...limits))
  }
}
