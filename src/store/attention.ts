import type { TokenKind } from '../core/tokens/types.ts'

// The store's interface for what needs attention. Import it from `store.ts`.

export interface ExpiringToken {
  readonly id: number
  readonly kind: TokenKind
  readonly label: string
  readonly expiresAtMs: number
}

/** Active tokens of an account that expire after `fromMs`, and at `untilMs` at the latest. */
export interface ExpiringQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
  readonly limit: number
}

export interface AttentionReads {
  /** The next to expire first. */
  expiringTokens(query: ExpiringQuery): Promise<ExpiringToken[]>
  /** The number of tokens that name countries, counted up to `limit`. */
  tokensNamingCountries(accountId: string, limit: number): Promise<number>
  /** Migrations that a newer version has applied while this process runs. */
  unknownMigrations(): Promise<string[]>
}
