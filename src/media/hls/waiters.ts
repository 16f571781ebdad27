import type { Clock } from '../../base/clock.ts'

interface Waiter {
  readonly holds: () => boolean
  readonly resolve: (holds: boolean) => void
  readonly untilMs: number
}

/** Requests that wait for the same stream. They share one timer, however many they are. */
export class Waiters {
  readonly #clock: Clock
  readonly #waiting = new Set<Waiter>()
  #timer = new AbortController()
  #timerEndsMs = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves when the condition holds (true), and after `ms` or with `stop` at the latest. */
  until(holds: () => boolean, ms: number): Promise<boolean> {
    if (this.#stopped || ms <= 0 || holds()) return Promise.resolve(holds())
    return new Promise((resolve) => {
      this.#waiting.add({ holds, resolve, untilMs: this.#clock.monotonic() + ms })
      this.#arm()
    })
  }

  /** Something has changed: checks all conditions. */
  notify(): void {
    this.#release((waiter) => waiter.holds())
  }

  /** Nothing changes any more. */
  stop(): void {
    this.#stopped = true
    this.#release(() => true)
  }

  #release(isOver: (waiter: Waiter) => boolean): void {
    for (const waiter of this.#waiting) {
      if (!isOver(waiter)) continue
      this.#waiting.delete(waiter)
      waiter.resolve(waiter.holds())
    }
    this.#arm()
  }

  /** Sleeps until the first of them has waited long enough. */
  #arm(): void {
    const endsMs = Math.min(...[...this.#waiting].map(({ untilMs }) => untilMs))
    if (endsMs === this.#timerEndsMs) return
    this.#timer.abort()
    this.#timer = new AbortController()
    this.#timerEndsMs = endsMs
    if (endsMs === Number.POSITIVE_INFINITY) return
    this.#clock.sleep(Math.max(0, endsMs - this.#clock.monotonic()), this.#timer.signal).then(
      () => this.#expire(),
      () => undefined,
    )
  }

  #expire(): void {
    this.#timerEndsMs = Number.NaN
    const nowMs = this.#clock.monotonic()
    this.#release(({ untilMs }) => untilMs <= nowMs)
  }
}
