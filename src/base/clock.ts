import { setTimeout as delay } from 'node:timers/promises'

/** Time as an argument. Production passes `systemClock`, tests pass a `ManualClock`. */
export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01T00:00:00Z. Use it for dates that people see and for expiry. */
  now(): number
  /** Monotonic milliseconds with an arbitrary origin. Use it for leases, timeouts and durations. */
  monotonic(): number
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { ref: false, ...(signal ? { signal } : {}) })
  },
}

/** A clock that moves only on `advance`. Sleepers wake in order when it passes their time. */
export class ManualClock implements Clock {
  #now: number
  #sleepers: { at: number; wake: () => void }[] = []

  constructor(startMs = 1_750_000_000_000) {
    this.#now = startMs
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#sleepers = this.#sleepers.filter((s) => s !== sleeper)
        reject(signal?.reason as Error)
      }
      const wake = (): void => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      const sleeper = { at: this.#now + ms, wake }
      if (signal?.aborted) return abort()
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', abort)
    })
  }

  /** Moves time forward by `ms` and wakes every sleeper whose time has come. */
  advance(ms: number): void {
    this.#now += ms
    const due = this.#sleepers.filter((s) => s.at <= this.#now).sort((a, b) => a.at - b.at)
    this.#sleepers = this.#sleepers.filter((s) => s.at > this.#now)
    for (const sleeper of due) sleeper.wake()
  }
}
