import type { Bytes } from '../core/sessions/types.ts'
import type { StreamRef } from '../core/streams/streamId.ts'
import type { Token, TokenKind, TokenState } from '../core/tokens/types.ts'
import type { RestreamEventReads, RestreamEventTx } from './restreamEvents.ts'
import type { PullReads, PullTx } from './pulls.ts'
import type { UsageQuery } from './usage.ts'

/** A token as stored, with its value twice: hashed for look-ups, sealed to show it and to sign. */
export interface StoredToken extends Token {
  valueHash: Uint8Array
  valueSealed: Uint8Array
}

export interface BoundAddress {
  /** Canonical text. */
  address: string
  firstUsedAtMs: number
  lastUsedAtMs: number
}

export interface TokenListQuery {
  accountId: string
  kind: TokenKind
  /** `LastUsedOn`: a token that was never used comes before all others. */
  sortBy: 'Name' | 'AddedOn' | 'LastUsedOn'
  descending: boolean
  offset: number
  limit: number
  /** Case-insensitive (ASCII) part of the label, of an exact stream name, or of either. Excludes tokens with a regex entry. */
  match?: { text: string; in: 'TokenName' | 'StreamName' | 'TokenOrStreamName' }
  only?: TokenFilter
}

/** Tokens in this state at `nowMs`, those that expire before a time, and those with one of some clusters (null: without one). */
export interface TokenFilter {
  nowMs: number
  state?: TokenState
  expiresBeforeMs?: number
  clusters?: readonly (string | null)[]
}

interface TokenReads {
  get(id: number): Promise<StoredToken | undefined>
  findByHash(hash: Uint8Array): Promise<StoredToken | undefined>
  /** One page by offset; ties are ordered by id. Costs the same near both ends. */
  list(query: TokenListQuery): Promise<StoredToken[]>
  count(query: Pick<TokenListQuery, 'accountId' | 'kind' | 'match' | 'only'>): Promise<number>
  /** Publish tokens that are active and not expired, and that name the stream exactly or have patterns (in `patterns`;
   * the caller matches them). Ordered by id. */
  usable(
    accountId: string,
    nowMs: number,
    streamName: string,
  ): Promise<{ id: number; secured: boolean; exact: boolean; patterns: string[] }[]>
  /** Whether one of them whose viewers need tokens names the stream exactly. */
  isNameSecured(accountId: string, nowMs: number, streamName: string): Promise<boolean>
  /** The patterns of those whose viewers need tokens, at most `limit`. */
  securedPatterns(accountId: string, nowMs: number, limit: number): Promise<string[]>
}

interface BindingReads {
  /** In the order of binding. */
  list(tokenId: number): Promise<BoundAddress[]>
}

interface RevocationReads {
  list(tokenId: number): Promise<string[]>
}

export interface RestreamKeyReads {
  /** Sealed, in the order of the token's targets. */
  list(tokenId: number): Promise<Uint8Array[]>
}

interface RestreamKeyTx extends RestreamKeyReads {
  /** The token must be locked. */
  replace(tokenId: number, keys: readonly Uint8Array[]): Promise<void>
}

/** What the targets of a feed used in an hour: the bytes of their connections. */
export interface RestreamHour extends Bytes, StreamRef {
  readonly feedId: string
  readonly hourMs: number
  /** How long they took media, added up. */
  readonly liveMs: number
}

/** A query for sums of them. The time range is half open. */
export interface RestreamHourQuery
  extends Pick<UsageQuery, 'accountId' | 'fromMs' | 'untilMs' | 'slots' | 'streamNames' | 'limit'> {
  readonly groupBy: readonly ('slotMs' | 'streamName')[]
}

/** A dimension that it was not grouped by is 0 or empty. */
export interface RestreamSum extends Bytes {
  readonly slotMs: number
  readonly streamName: string
  readonly liveMs: number
}

interface RestreamHourReads {
  /** Sorted by `groupBy`. */
  sum(query: RestreamHourQuery): Promise<RestreamSum[]>
}

interface RestreamHourTx extends RestreamHourReads {
  /** Replaces the rows of these feeds and hours. */
  put(hours: readonly RestreamHour[]): Promise<void>
  /** Deletes at most `limit` rows of earlier hours; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

interface TokenTx extends Pick<TokenReads, 'get'> {
  /** Gives the token this id or the next one, and version 1. Later tokens get larger ids. */
  insert(token: Omit<StoredToken, 'id' | 'version'>, id?: number): Promise<StoredToken>
  /** Reads and locks the row until the transaction ends. */
  lock(accountId: string, kind: TokenKind, id: number): Promise<StoredToken | undefined>
  /** Reads version and value of a token, and locks it against changes until the transaction ends. Undefined: deleted. */
  lockShared(id: number): Promise<Pick<StoredToken, 'version' | 'valueHash'> | undefined>
  /** Overwrites the whole row, `before`, which must be locked, and raises its version by one. */
  replace(token: StoredToken, before: Pick<StoredToken, 'streams'>): Promise<StoredToken>
  /** Deletes the token with its streams, targets, bindings and revocations. */
  delete(token: Pick<Token, 'id' | 'accountId' | 'kind'>): Promise<void>
  /** Raises the last use of tokens that still exist; never lowers it. Their versions stay. */
  touch(uses: readonly { id: number; atMs: number }[]): Promise<void>
}

interface BindingTx {
  /**
   * Binds `address` unless `limit` others are bound. Exact under any concurrency and with many nodes.
   * `changed`: the token has another version than the one that was evaluated, or is deleted: evaluate again.
   */
  bind(input: {
    tokenId: number
    version: number
    address: string
    limit: number
    atMs: number
  }): Promise<'bound' | 'known' | 'full' | 'changed'>
  /** Binds these in their order. The token must be locked, and have none. */
  bindFirst(tokenId: number, addresses: readonly string[], atMs: number): Promise<void>
  /** Removes all but the `count` addresses that were bound first. */
  keepEarliest(tokenId: number, count: number): Promise<void>
  clear(tokenId: number): Promise<number>
  /** Raises the last use of addresses that are still bound; never lowers it. */
  touch(uses: readonly { tokenId: number; address: string; atMs: number }[]): Promise<void>
}

interface RevocationTx {
  /** Idempotent. */
  add(tokenId: number, jti: string, atMs: number): Promise<void>
  count(tokenId: number): Promise<number>
  clear(tokenId: number): Promise<void>
}

/** Tokens and their parts. */
export interface TokenNounReads {
  tokens: TokenReads
  bindings: BindingReads
  pulls: PullReads
  restreamEvents: RestreamEventReads
  restreamHours: RestreamHourReads
  restreamKeys: RestreamKeyReads
  revocations: RevocationReads
}

/** The same in a transaction. */
export interface TokenNounTx {
  tokens: TokenTx
  bindings: BindingTx
  pulls: PullTx
  restreamEvents: RestreamEventTx
  restreamHours: RestreamHourTx
  restreamKeys: RestreamKeyTx
  revocations: RevocationTx
}
