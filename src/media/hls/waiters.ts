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
    const untilMs = this.#clock.monotonic() + ms
    return new Promise((resolve) => {
      this.#waiting.add({ holds, resolve, untilMs })
      if (untilMs < this.#timerEndsMs) this.#arm(untilMs)
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
    if (this.#waiting.size === 0) this.#arm(Number.POSITIVE_INFINITY)
  }

  #arm(endsMs: number): void {
    this.#timer.abort()
    this.#timer = new AbortController()
    this.#timerEndsMs = endsMs
    if (endsMs === Number.POSITIVE_INFINITY) return
    this.#clock.sleep(Math.max(0, endsMs - this.#clock.monotonic()), this.#timer.signal).then(
      () => this.#expire(),
      () => undefined,
    )
  }

  /** The first of them has waited long enough, or was released meanwhile. */
  #expire(): void {
    const nowMs = this.#clock.monotonic()
    this.#release(({ untilMs }) => untilMs <= nowMs)
    let nextMs = Number.POSITIVE_INFINITY
    for (const { untilMs } of this.#waiting) nextMs = Math.min(nextMs, untilMs)
    this.#arm(nextMs)
  }
}
