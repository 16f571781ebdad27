/** Of what all accounts share, the part that one of them may have. */
const SHARE = 3 / 4

/**
 * Leaves a part of what all accounts share to those that have less of it. Where there is one account alone, as on most servers, it may
 * have all of it.
 */
export class AccountShare {
  readonly #accounts: Set<string>

  /** @param accounts those that there are. One that is made later counts from when it is noted, or first asks. */
  constructor(accounts: readonly string[] = []) {
    this.#accounts = new Set(accounts)
  }

  note(accountId: string): void {
    this.#accounts.add(accountId)
  }

  /** Whether an account that has `own` may have one more. @param most of all accounts together */
  allows(accountId: string, own: number, most: number): boolean {
    this.note(accountId)
    return this.#accounts.size < 2 || own < Math.ceil(most * SHARE)
  }
}
