import type { Clock } from '../../src/base/clock.ts'

/** The true time, milliseconds. It moves only when the world says. */
export class WorldTime {
  ms = 1_750_000_000_000
}

/** The clock of one machine: it drifts, may be wrong, and wakes no sleeper while its process stands still. */
export class NodeClock implements Clock {
  /** Ahead of the true time, milliseconds. */
  aheadMs = 0
  readonly #time: WorldTime
  readonly #drift: number
  readonly #fromMs: number
  #sleepers: { readonly atMs: number; readonly wake: () => void }[] = []

  /** @param drift share of the time by which it runs too fast */
  constructor(time: WorldTime, drift: number) {
    this.#time = time
    this.#drift = drift
    this.#fromMs = time.ms
  }

  now(): number {
    return Math.round(this.#time.ms + this.aheadMs + this.#passedMs() * this.#drift)
  }

  monotonic(): number {
    return this.#passedMs() * (1 + this.#drift)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#sleepers = this.#sleepers.filter((one) => one !== sleeper)
        reject(signal?.reason as Error)
      }
      const wake = (): void => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      const sleeper = { atMs: this.monotonic() + ms, wake }
      if (signal?.aborted) return abort()
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', abort)
    })
  }

  /** Wakes the sleepers whose time has come. */
  tick(): void {
    const nowMs = this.monotonic()
    const due = this.#sleepers.filter(({ atMs }) => atMs <= nowMs)
    this.#sleepers = this.#sleepers.filter(({ atMs }) => atMs > nowMs)
    for (const { wake } of due.toSorted((a, b) => a.atMs - b.atMs)) wake()
  }

  readonly #passedMs = (): number => this.#time.ms - this.#fromMs
}
