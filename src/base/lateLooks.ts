import type { Clock } from './clock.ts'

/** A machine with much to do is late by less. */
const LATE_MS = 1000
/** A machine may stand still again and again. What began before the oldest of these pauses counts from its end. */
const MAX_PAUSES = 64
/** From one look of `watchedFor` to the next. */
const STEP_MS = 1000

interface Pause {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * The looks of a job that judges deadlines. A suspended machine, a swap storm or a stopped process makes a look late. What
 * others sent meanwhile still waits in sockets, so the time before a late look counts for no deadline.
 */
export class LateLooks {
  readonly #everyMs: number
  readonly #lateMs: number
  /** The latest first. */
  readonly #pauses: Pause[] = []
  #latestMs: number

  /**
   * @param everyMs from one look to the next @param nowMs monotonic, as all times here
   * @param lateMs a look is late that comes later by more than this
   */
  constructor(everyMs: number, nowMs: number, lateMs = LATE_MS) {
    this.#everyMs = everyMs
    this.#lateMs = lateMs
    this.#latestMs = nowMs
  }

  /** When the latest pause was over. */
  get resumedMs(): number {
    return this.#pauses[0]?.toMs ?? Number.NEGATIVE_INFINITY
  }

  /** Call it at the beginning of each look. Returns the time that it missed, milliseconds; 0: it is in time. */
  look(nowMs: number): number {
    const missedMs = this.#missedMs(nowMs)
    if (missedMs > 0) this.#note({ fromMs: this.#latestMs, toMs: nowMs })
    this.#latestMs = nowMs
    return missedMs
  }

  /** For how long something has lasted, without the pauses since then, and without one that no look has found yet. */
  lastedMs(sinceMs: number, nowMs: number): number {
    const endMs = this.#missedMs(nowMs) > 0 ? Math.max(sinceMs, this.#latestMs) : nowMs
    let lastedMs = endMs - sinceMs
    for (const { fromMs, toMs } of this.#pauses) {
      if (toMs <= sinceMs) break
      lastedMs -= toMs - Math.max(sinceMs, fromMs)
    }
    return lastedMs
  }

  #missedMs(nowMs: number): number {
    const lateMs = nowMs - this.#latestMs - this.#everyMs
    return lateMs > this.#lateMs ? lateMs : 0
  }

  #note(pause: Pause): void {
    this.#pauses.unshift(pause)
    const oldest = this.#pauses[MAX_PAUSES - 1]
    if (oldest) this.#pauses.splice(MAX_PAUSES - 1, 2, { ...oldest, fromMs: Number.NEGATIVE_INFINITY })
  }
}

/**
 * Resolves after `limitMs` in which this process ran: what came during a pause still waits in a socket.
 * Rejects with the signal's reason when it is aborted first.
 */
export async function watchedFor(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const [startMs, stepMs] = [clock.monotonic(), Math.min(STEP_MS, limitMs)]
  const looks = new LateLooks(stepMs, startMs)
  for (let leftMs = limitMs; leftMs > 0; leftMs = limitMs - looks.lastedMs(startMs, clock.monotonic())) {
    await clock.sleep(Math.min(stepMs, leftMs), signal)
    looks.look(clock.monotonic())
  }
}
