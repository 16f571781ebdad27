import { Throttle } from '../base/throttle.ts'
import { halfway } from '../base/numbers.ts'
import { addressKey, networkKey } from '../core/access/address.ts'
import type { AccessLogRow } from '../store/store.ts'

export interface BudgetOptions {
  /** The most rows for one account in a minute. */
  readonly rowsPerMinute: number
  /** The most rows for all accounts in a minute. */
  readonly totalRowsPerMinute: number
}

/** A quarter of an account's rows, so that one address cannot use up the budget and hide the others. */
const ADDRESS_SHARE = 0.25
/** About 100 bytes each. */
const KEYS_MAX = 20_000

/** Limits rows of the access log by address, by account and in total, so that memory and disk stay bounded. */
export class RowBudget {
  readonly #ofAddress: Throttle
  /** Of the network around it. */
  readonly #ofNetwork: Throttle
  readonly #ofAccount: Throttle
  readonly #ofAll: Throttle

  /** @param limits read at each use */
  constructor(limits: BudgetOptions) {
    this.#ofAddress = new Throttle(() => Math.max(1, limits.rowsPerMinute * ADDRESS_SHARE), KEYS_MAX)
    this.#ofNetwork = new Throttle(() => Math.max(1, limits.rowsPerMinute * halfway(ADDRESS_SHARE, 1)), KEYS_MAX)
    this.#ofAccount = new Throttle(() => limits.rowsPerMinute, KEYS_MAX)
    this.#ofAll = new Throttle(() => limits.totalRowsPerMinute, 1)
  }

  /** Takes one row from the budgets. Null: allowed; else the budget that is exhausted. */
  take({ accountId, address }: Pick<AccessLogRow, 'accountId' | 'address'>, nowMs: number): BudgetName | null {
    const key = addressKey({ family: address.includes(':') ? 6 : 4, text: address })
    if (this.#ofAddress.take(`${accountId} ${key}`, nowMs) > 0) return 'address_budget'
    const network = networkKey(key)
    if (network !== null && this.#ofNetwork.take(`${accountId} ${network}`, nowMs) > 0) return 'address_budget'
    if (this.#ofAccount.take(accountId, nowMs) > 0) return 'account_budget'
    return this.#ofAll.take('all', nowMs) === 0 ? null : 'total_budget'
  }
}

type BudgetName = 'address_budget' | 'account_budget' | 'total_budget'
