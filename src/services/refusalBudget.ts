import { Throttle } from '../base/throttle.ts'
import { addressKey } from '../core/access/address.ts'
import type { AccessLogRow } from '../store/store.ts'

export interface BudgetOptions {
  /** Rows that the refusals of one account may become in a minute. */
  readonly rowsPerMinute: number
  /** Of all accounts together. */
  readonly totalRowsPerMinute: number
}

/** A quarter of an account's rows, so that one address alone cannot hide what others do. */
const ADDRESS_SHARE = 0.25
/** About 100 bytes each. */
const KEYS_MAX = 20_000

/** How many refusals become rows: so many for an address, an account and in all. Memory and disk stay bounded, whoever comes. */
export class RefusalBudget {
  readonly #ofAddress: Throttle
  readonly #ofAccount: Throttle
  readonly #ofAll: Throttle

  constructor({ rowsPerMinute, totalRowsPerMinute }: BudgetOptions) {
    this.#ofAddress = new Throttle(Math.max(1, rowsPerMinute * ADDRESS_SHARE), KEYS_MAX)
    this.#ofAccount = new Throttle(rowsPerMinute, KEYS_MAX)
    this.#ofAll = new Throttle(totalRowsPerMinute, 1)
  }

  /** Null: one row more. Else whose budget is used up. */
  take({ accountId, address }: Pick<AccessLogRow, 'accountId' | 'address'>, nowMs: number): BudgetName | null {
    const key = `${accountId} ${addressKey({ family: address.includes(':') ? 6 : 4, text: address })}`
    if (this.#ofAddress.take(key, nowMs) > 0) return 'address_budget'
    if (this.#ofAccount.take(accountId, nowMs) > 0) return 'account_budget'
    return this.#ofAll.take('', nowMs) > 0 ? 'total_budget' : null
  }
}

type BudgetName = 'address_budget' | 'account_budget' | 'total_budget'
