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

/** Resolves after `ms` milliseconds, or as soon as the signal is aborted. Never rejects. */
export const pause = (clock: Pick<Clock, 'sleep'>, ms: number, signal: AbortSignal): Promise<void> =>
  clock.sleep(ms, signal).catch(() => undefined)

/** After a pause of the process, what came meanwhile is read within this time. */
const CATCH_UP_MS = 1000

/**
 * What `done` resolves with; null: not within `ms` milliseconds. After a pause of this process it is waited for once more,
 * since the answer may have come meanwhile.
 */
export async function inTime<T>(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  ms: number,
  done: Promise<T>,
): Promise<T | null> {
  const over = new AbortController()
  const late = expired(clock, ms, over.signal).then(
    () => null,
    () => null,
  )
  return Promise.race([done, late]).finally(() => over.abort())
}

async function expired(clock: Pick<Clock, 'monotonic' | 'sleep'>, ms: number, signal: AbortSignal): Promise<void> {
  const dueMs = clock.monotonic() + ms
  await clock.sleep(ms, signal)
  if (clock.monotonic() - dueMs > CATCH_UP_MS) await clock.sleep(Math.min(ms, CATCH_UP_MS), signal)
}

/** Waits for work that cannot be cancelled, but only until the signal aborts. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const rejectNow = () => reject(signal.reason as Error)
    if (signal.aborted) rejectNow()
    signal.addEventListener('abort', rejectNow, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', rejectNow))
  })
}

/** A moment on both clocks, milliseconds. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** A smaller step of the wall clock is followed. So is slewing, as a share of the time since: it keeps to the true time. */
const STEP_MS = 5_000
const DRIFT = 0.001

export const momentOf = (clock: Clock): Moment => ({ wallMs: clock.now(), monotonicMs: clock.monotonic() })

/**
 * The date of a later moment, epoch milliseconds: that of the wall clock, unless it was set meanwhile. Then it is `since`
 * and the time that has passed, so that a length stays right while a clock is wrong or is put right.
 */
export function dateSince(since: Moment, clock: Clock, monotonicMs = clock.monotonic()): number {
  const passedMs = monotonicMs - since.monotonicMs
  const steadyMs = since.wallMs + passedMs
  const wallMs = clock.now() - (clock.monotonic() - monotonicMs)
  return Math.round(Math.abs(wallMs - steadyMs) <= STEP_MS + passedMs * DRIFT ? wallMs : steadyMs)
}

/** From a start to an end, epoch milliseconds. */
export interface DatedSpan {
  readonly startedAtMs: number
  readonly endedAtMs: number
}

/**
 * A span that is over, as it goes on record: its length is not negative, and its end is not later than now. If it would
 * end later, by a clock that was wrong at its start, it is moved to end now and keeps its length.
 */
export function settledSpan({ startedAtMs, endedAtMs }: DatedSpan, nowMs: number): DatedSpan {
  const lengthMs = Math.max(0, endedAtMs - startedAtMs)
  const aheadMs = startedAtMs + lengthMs - nowMs
  if (aheadMs <= 0) return { startedAtMs, endedAtMs: startedAtMs + lengthMs }
  // Clocks of two machines differ by so little.
  if (aheadMs <= STEP_MS) return { startedAtMs: Math.min(startedAtMs, nowMs), endedAtMs: nowMs }
  return { startedAtMs: nowMs - lengthMs, endedAtMs: nowMs }
}

/** As many starts are remembered. */
const MAX_STARTS = 10_000

/** What this process has seen to start, so that lengths do not depend on the wall clock. Drops the oldest. */
export class Starts {
  readonly #moments = new Map<string, Moment>()

  note(id: string, moment: Moment): void {
    this.#moments.set(id, moment)
    const [oldest] = this.#moments.keys()
    if (oldest !== undefined && this.#moments.size > MAX_STARTS) this.#moments.delete(oldest)
  }

  /** The date of now, by the start of `id` and the time since; by the wall clock if another process started it. */
  dateOf(id: string, clock: Clock): number {
    const start = this.#moments.get(id)
    return start === undefined ? clock.now() : dateSince(start, clock)
  }
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
  #wallAheadMs = 0
  #sleepers: { at: number; wake: () => void }[] = []

  constructor(startMs = 1_750_000_000_000) {
    this.#now = startMs
  }

  now(): number {
    return this.#now + this.#wallAheadMs
  }

  /** Sets the wall clock this much ahead (behind: negative), as an operator or NTP does. No time passes. */
  setWall(byMs: number): void {
    this.#wallAheadMs += byMs
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
