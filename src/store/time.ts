import type { Clock } from '../base/clock.ts'
import type { Store } from './store.ts'

/** The time of the database may be this much off what our own monotonic clock says, and has not jumped. */
const UNEVEN_MS = 1_000
/** And this part of the time since the last look: clocks are slewed by half of that at most. */
const DRIFT = 0.001

interface Look {
  /** The time of the database, epoch milliseconds. */
  readonly timeMs: number
  /** When it was read, between these two; monotonic milliseconds. */
  readonly askedAtMs: number
  readonly answeredAtMs: number
}

/**
 * The time of the database, which all nodes share. `clock` is the machine's clock, put right by it: a node whose clock is
 * wrong then dates, expires and schedules like all others. Between two looks it runs as the machine's does.
 */
export class DatabaseTime {
  readonly clock: Clock
  readonly #store: Pick<Store, 'time'>
  readonly #machine: Clock
  #offsetMs = 0
  #last: Look | null = null
  #jumpedAtMs = Number.NEGATIVE_INFINITY

  constructor(store: Pick<Store, 'time'>, machine: Clock) {
    this.#store = store
    this.#machine = machine
    this.clock = {
      now: () => machine.now() + this.#offsetMs,
      monotonic: () => machine.monotonic(),
      sleep: (ms, signal) => machine.sleep(ms, signal),
    }
  }

  /** How far the machine's clock is behind the database (ahead: negative), milliseconds. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Sets the clock. @throws StoreUnavailable: it runs on as it was */
  async look(): Promise<void> {
    const [asked, askedAtMs] = [this.#machine.now(), this.#machine.monotonic()]
    const timeMs = await this.#store.time()
    const [answered, answeredAtMs] = [this.#machine.now(), this.#machine.monotonic()]
    // The answer was true at some moment between the two, so a slow one tells little, and moves the clock little.
    this.#offsetMs = Math.round(Math.min(Math.max(this.#offsetMs, timeMs - answered), timeMs - asked))
    const look = { timeMs, askedAtMs, answeredAtMs }
    if (this.#last && hasJumped(this.#last, look)) this.#jumpedAtMs = answeredAtMs
    this.#last = look
  }

  /**
   * Whether the time of the database has run evenly for so long. After a jump (a clock that is set, another server, a
   * machine that slept) leases look expired that are not; all who live have renewed theirs when this is true again.
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
