import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'

/** Ids that no account has; more are forgotten, the oldest first. */
const UNKNOWN_MAX = 10_000
/** An account may be made meanwhile. */
const UNKNOWN_MS = 60_000

/** Which accounts there are, as far as somebody has asked: they are never deleted. */
export class KnownAccounts {
  readonly #clock: Clock
  readonly #known = new Set<string>()
  /** Until when nobody is asked again, monotonic milliseconds. */
  readonly #unknown = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined: the store has to be asked. */
  has(accountId: string): boolean | undefined {
    if (this.#known.has(accountId)) return true
    const untilMs = this.#unknown.get(accountId)
    return untilMs !== undefined && this.#clock.monotonic() < untilMs ? false : undefined
  }

  learn(accountId: string): void {
    this.#known.add(accountId)
  }

  /** @throws StoreUnavailable */
  async look(store: Store, accountId: string): Promise<boolean> {
    const isKnown = (await store.read.accounts.get(accountId)) !== undefined
    if (isKnown) this.learn(accountId)
    else this.#remember(accountId)
    return isKnown
  }

  #remember(accountId: string): void {
    this.#unknown.delete(accountId)
    const [oldest] = this.#unknown.size >= UNKNOWN_MAX ? this.#unknown.keys() : []
    if (oldest !== undefined) this.#unknown.delete(oldest)
    this.#unknown.set(accountId, this.#clock.monotonic() + UNKNOWN_MS)
  }
}
