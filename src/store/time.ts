import type { Clock } from '../base/clock.ts'
import type { Store } from './store.ts'

/** A smaller deviation of the database's time from the monotonic clock is not a jump. */
const UNEVEN_MS = 1_000
/** Further tolerance, as a share of the time since the last reading: slewing changes a clock by at most half of it. */
const DRIFT = 0.001

interface Look {
  /** The time of the database, epoch milliseconds. */
  readonly timeMs: number
  /** The reading happened between these two; monotonic milliseconds. */
  readonly askedAtMs: number
  readonly answeredAtMs: number
}

/**
 * The time of the database, which all nodes share: a node with a wrong clock dates, expires and schedules like the others.
 * Between two readings `clock` runs by the machine's monotonic clock, so that a clock of the machine that is set ends no session
 * and begins no schedule.
 */
export class DatabaseTime {
  readonly clock: Clock
  readonly #store: Pick<Store, 'time'>
  readonly #machine: Clock
  /** The time of the database when the monotonic clock was 0; before the first reading, that of the machine. */
  #originMs: number
  #last: Look | null = null
  #jumpedAtMs = Number.NEGATIVE_INFINITY
  /** The last reading failed. */
  #isAway = false

  constructor(store: Pick<Store, 'time'>, machine: Clock) {
    this.#store = store
    this.#machine = machine
    this.#originMs = machine.now() - machine.monotonic()
    this.clock = {
      now: () => Math.round(this.#originMs + machine.monotonic()),
      monotonic: () => machine.monotonic(),
      sleep: (ms, signal) => machine.sleep(ms, signal),
    }
  }

  /** How far the machine's clock is behind the database (ahead: negative), milliseconds. */
  get offsetMs(): number {
    return this.clock.now() - this.#machine.now()
  }

  /** Reads the time and corrects the clock. @throws StoreUnavailable: the correction stays as it was */
  async look(): Promise<void> {
    const askedAtMs = this.#machine.monotonic()
    const timeMs = await this.#store.time().catch((error: unknown) => {
      this.#isAway = true
      throw error
    })
    const answeredAtMs = this.#machine.monotonic()
    // The reading was true at some moment between the two, so a slow one is less precise and moves the clock less.
    this.#originMs = Math.min(Math.max(this.#originMs, timeMs - answeredAtMs), timeMs - askedAtMs)
    const look = { timeMs, askedAtMs, answeredAtMs }
    if (this.#isAway || (this.#last && hasJumped(this.#last, look))) this.#jumpedAtMs = answeredAtMs
    this.#last = look
    this.#isAway = false
  }

  interrupted(): void {
    this.#jumpedAtMs = this.#machine.monotonic()
  }

  /**
   * Whether the time of the database has not jumped for `forMs`. After a jump (a clock was set, the server changed, a
   * machine slept), and when the database was away for all, leases of live nodes may look expired; they have renewed theirs
   * when this is true again.
   */
  async isEven(forMs: number): Promise<boolean> {
    await this.look()
    return this.#machine.monotonic() - this.#jumpedAtMs >= forMs
  }
}

function hasJumped(before: Look, now: Look): boolean {
  const passedMs = now.timeMs - before.timeMs
  const leastMs = now.askedAtMs - before.answeredAtMs
  const mostMs = now.answeredAtMs - before.askedAtMs
  const slackMs = UNEVEN_MS + mostMs * DRIFT
  return passedMs < leastMs - slackMs || passedMs > mostMs + slackMs
}
