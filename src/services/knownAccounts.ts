import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'

/** The most ids without an account in the cache; the oldest are removed first. */
const UNKNOWN_MAX = 10_000
/** How long an id without an account stays in the cache, because the account may be created meanwhile. */
const UNKNOWN_MS = 60_000

/** Caches which accounts exist. Accounts are never deleted, so a positive entry stays valid. */
export class KnownAccounts {
  readonly #clock: Clock
  readonly #known = new Set<string>()
  /** Ids without an account, each with its expiry, monotonic milliseconds. */
  readonly #unknown = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined: not cached; call `look`. */
  has(accountId: string): boolean | undefined {
    if (this.#known.has(accountId)) return true
    const untilMs = this.#unknown.get(accountId)
    return untilMs !== undefined && this.#clock.monotonic() < untilMs ? false : undefined
  }

  learn(accountId: string): void {
    this.#known.add(accountId)
  }

  /** Asks the store. @throws StoreUnavailable */
  async look(store: Store, accountId: string): Promise<boolean> {
    const exists = (await store.read.accounts.get(accountId)) !== undefined
    if (exists) this.learn(accountId)
    else this.#cacheUnknown(accountId)
    return exists
  }

  #cacheUnknown(accountId: string): void {
    this.#unknown.delete(accountId)
    const [oldest] = this.#unknown.size >= UNKNOWN_MAX ? this.#unknown.keys() : []
    if (oldest !== undefined) this.#unknown.delete(oldest)
    this.#unknown.set(accountId, this.#clock.monotonic() + UNKNOWN_MS)
  }
}
