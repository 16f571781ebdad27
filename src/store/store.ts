import type { ActorIdentity } from '../core/actor.ts'
import type { Token, TokenKind } from '../core/tokens/types.ts'
import type { AccessLogReads, AccessLogTx } from './accessLog.ts'
import type {
  FeedReads,
  FeedTx,
  NodeReads,
  NodeTx,
  SessionReads,
  SessionTx,
  UsageReads,
  UsageTx,
  ViewingReads,
  ViewingTx,
} from './sessions.ts'
import type { PoolConnections } from './leases/types.ts'
import type { RecordingReads, RecordingTx } from './recordings.ts'
import type { ChannelReads, ChannelTx } from './channels.ts'
import type { RunReads, RunTx } from './runs.ts'
import type { DeliveryReads, DeliveryTx, WebhookReads, WebhookTx } from './webhooks.ts'

export type {
  StoredWebhook,
  WebhookPageQuery as WebhookListQuery,
  DeliveryState,
  Delivery,
  NewDelivery,
  Payload,
  ClaimedDelivery,
  DeliveryEnd,
} from './webhooks.ts'

export type { AccessLogQuery, AccessLogRow } from './accessLog.ts'

export type { RecordingQuery, StoredRecording } from './recordings.ts'
export type { NewNode, Node, SessionEnd, SessionQuery, SessionScope, StoredSession } from './sessions.ts'
export type { EndedFeed, RemoteFeed, StoredFeed, Stream, UsageQuery } from './sessions.ts'
export type { PoolConnections as Connections, Lease, LeaseKind, Leases } from './leases/types.ts'
export type {
  EngineStateRecord as LifeRecord,
  Run,
  RunConfig,
  RunQuery,
  RunsWithin,
  ScheduledChannel,
  StoredEngineState as StoredLife,
} from './runs.ts'
export type { ChannelEvent, ChannelEventQuery, ChannelWebhook as LiveWebhook, LoggedAttempt, LogQuery } from './runs.ts'
export type { Scheduler, SchedulerQuery, SchedulerSort, SkippedOccurrence } from './runs.ts'

export type {
  StoredIngest,
  DistributionKey,
  Newest,
  ChannelPageQuery as ChannelListQuery,
  ChildListQuery,
  DistributionListQuery,
  ServedBytes,
  ServedQuery,
  ServedSum,
} from './channels.ts'

/**
 * The one door to what Sluice remembers. SQLite and PostgreSQL implement it; nothing above knows which one it is.
 * Every promise of every verb is checked by `test/conformance/store.ts` on both.
 */
export interface Store {
  /**
   * Runs `work` in one durable transaction: all of it is on disk when the promise resolves, none of it when it rejects.
   * `work` awaits nothing but verbs of `tx`, and must not use the store itself (it would wait for itself).
   * Concurrent transactions may be committed together; one that throws does not touch the others.
   * @throws StoreUnavailable when the database cannot be reached or cannot write (disk full, connection lost)
   * @throws Conflict when a unique value exists already
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Committed data, outside any transaction. */
  readonly read: Reads
  /**
   * Calls `listener` when another node or process may have committed a change of a token or secret, and at least every
   * second. Returns the function that stops it. What changed is asked with `changesSince`.
   */
  watch(listener: () => void): () => void
  /** True when somebody outside this process may have committed since the last call. Cheap (a microsecond) and synchronous;
   * a store that cannot know returns false and relies on `watch`. */
  changedRemotely(): boolean
  /** Changes committed after `cursor` (null: none, only the present position). May repeat a change, never misses one;
   * `reset` is true when the position is too old to answer and everything cached must be dropped. */
  changesSince(cursor: string | null): Promise<{ changes: Change[]; cursor: string; reset: boolean }>
  /** The disk that the data is on; null: that of a database server, which cannot be asked. */
  diskSpace(): Promise<{ readonly freeBytes: number; readonly totalBytes: number } | null>
  /** Rejects with StoreUnavailable when a read or a write would. */
  ping(): Promise<void>
  /** The time of the database, epoch milliseconds. With SQLite that is the clock of this machine. */
  time(): Promise<number>
  /** Null where there are none. */
  connections(): Promise<PoolConnections | null>
  /** Finishes what is queued, then closes. Idempotent. */
  close(): Promise<void>
}

/** The database cannot be reached or cannot write now. Becomes a 503 with Retry-After; nothing was written. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  /** There is no room left on its disk. */
  readonly isDiskFull: boolean

  constructor(message: string, { isDiskFull = false, ...options }: ErrorOptions & { isDiskFull?: boolean } = {}) {
    super(message, options)
    this.isDiskFull = isDiskFull
  }
}

/** A unique value exists already. `what` names it in the words of the interface. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
  readonly what: string
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} exists already`, options)
    this.what = what
  }
}

/**
 * What may have to be forgotten: one token, one API secret, or one credential. `kick`: sessions are to be ended; `feed`:
 * a feed began or ended (both without an id: they are looked up).
 */
export interface Change {
  readonly kind: 'token' | 'secret' | 'credential' | 'kick' | 'feed'
  readonly accountId: string
  readonly id: number
}

export interface Account {
  /** 6 lower-case letters and digits. */
  id: string
  name: string
  createdAtMs: number
}

export interface ApiSecret {
  id: number
  accountId: string
  name: string
  /** The last four characters, so that people can tell secrets apart. */
  hint: string
  createdAtMs: number
  refreshedAtMs: number | null
}

/** A v2 Basic credential: `key` is public, the secret is kept as SHA-256. */
export interface StoredCredential {
  id: number
  accountId: string
  name: string
  key: string
  scope: 'read' | 'write'
  createdAtMs: number
}

export interface User {
  id: number
  accountId: string
  email: string
  passwordHash: string
  createdAtMs: number
}

/** A token as stored: the record, and the value twice: hashed to be found, sealed to be shown and to sign. */
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
  sortBy: 'Name' | 'AddedOn'
  descending: boolean
  offset: number
  limit: number
  /** Case-insensitive (ASCII) part of the label, of an exact stream name, or of either. Tokens with a regex entry are left out. */
  match?: { text: string; in: 'TokenName' | 'StreamName' | 'TokenOrStreamName' }
}

/** An event on its way to webhooks; written in the transaction of the change that caused it. */
export interface OutboxEvent {
  accountId: string
  type: string
  event: string
  /** What a webhook's filter is matched against: a stream name or a transcoder name. */
  subject: string | null
  /** JSON. */
  data: string
  createdAtMs: number
}

export interface AuditRow {
  accountId: string
  atMs: number
  actor: ActorIdentity
  /** From where: the peer address, or null for the command line. */
  address: string | null
  requestId: string | null
  /** `publish_token.create`, `secret.refresh`, … */
  action: string
  subject: string
  /** JSON without secrets. */
  before: string | null
  after: string | null
}

/** Reads answer undefined for what does not exist; they never throw for it. */
export interface Reads extends ChannelReads, RunReads {
  accounts: {
    get(id: string): Promise<Account | undefined>
    /** By creation, then id. */
    list(): Promise<Account[]>
  }
  secrets: {
    findByHash(hash: Uint8Array): Promise<ApiSecret | undefined>
    list(accountId: string): Promise<ApiSecret[]>
  }
  credentials: {
    findByKey(key: string): Promise<(StoredCredential & { secretHash: Uint8Array }) | undefined>
    list(accountId: string): Promise<StoredCredential[]>
  }
  users: {
    findByEmail(email: string): Promise<User | undefined>
  }
  tokens: {
    get(id: number): Promise<StoredToken | undefined>
    findByHash(hash: Uint8Array): Promise<StoredToken | undefined>
    /** One page by offset, ties broken by id. The same cost near both ends. */
    list(query: TokenListQuery): Promise<StoredToken[]>
    count(query: Pick<TokenListQuery, 'accountId' | 'kind' | 'match'>): Promise<number>
    /** Publish tokens that could be used now, active and not expired, and that name the stream exactly or have patterns
     * (`patterns` holds theirs; the caller matches them). By id. */
    usable(
      accountId: string,
      nowMs: number,
      streamName: string,
    ): Promise<{ id: number; secured: boolean; exact: boolean; patterns: string[] }[]>
  }
  bindings: {
    /** In the order in which they were bound. */
    list(tokenId: number): Promise<BoundAddress[]>
  }
  revocations: {
    list(tokenId: number): Promise<string[]>
  }
  accessLog: AccessLogReads
  outbox: {
    /** Oldest first; for the delivery rooms and for tests. */
    pending(limit: number): Promise<(OutboxEvent & { id: number })[]>
  }
  webhooks: WebhookReads
  nodes: NodeReads
  sessions: SessionReads
  feeds: FeedReads
  viewing: ViewingReads
  recordings: RecordingReads
  usage: UsageReads
  deliveries: DeliveryReads
  audit: {
    /** Newest first. */
    recent(accountId: string, limit: number): Promise<(AuditRow & { id: number })[]>
  }
}

/** The verbs inside a transaction: they see what the transaction wrote. */
export interface Tx extends ChannelTx, RunTx {
  accounts: {
    insert(account: Account): Promise<void>
    list(): Promise<Account[]>
  }
  secrets: {
    /** @throws Conflict when the account has a secret of this name */
    insert(secret: Omit<ApiSecret, 'id'> & { hash: Uint8Array }): Promise<ApiSecret>
    get(accountId: string, id: number): Promise<ApiSecret | undefined>
    /** Gives the secret a new value; the old one is gone. */
    replace(id: number, hash: Uint8Array, hint: string, atMs: number): Promise<void>
    delete(id: number): Promise<void>
  }
  credentials: {
    insert(credential: Omit<StoredCredential, 'id'> & { secretHash: Uint8Array }): Promise<StoredCredential>
    get(accountId: string, id: number): Promise<StoredCredential | undefined>
    delete(id: number): Promise<void>
  }
  users: {
    /** @throws Conflict when the address is taken */
    insert(user: Omit<User, 'id'>): Promise<User>
  }
  tokens: {
    /** Gives the token its id and version 1. */
    insert(token: Omit<StoredToken, 'id' | 'version'>): Promise<StoredToken>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, kind: TokenKind, id: number): Promise<StoredToken | undefined>
    /** The version and value of a token, which nobody changes until the transaction ends; undefined: it is gone. */
    lockShared(id: number): Promise<Pick<StoredToken, 'version' | 'valueHash'> | undefined>
    /** Writes the whole record over the old one and raises its version by one. The row must be locked. */
    replace(token: StoredToken): Promise<StoredToken>
    /** Removes the token with its streams, bindings and revocations. */
    delete(token: Pick<Token, 'id' | 'accountId' | 'kind'>): Promise<void>
  }
  bindings: {
    /**
     * Binds `address` unless `limit` others are bound. Exact under any concurrency and with many nodes.
     * `changed`: the token is not the version that was decided on (or is gone): decide again.
     */
    bind(input: {
      tokenId: number
      version: number
      address: string
      limit: number
      atMs: number
    }): Promise<'bound' | 'known' | 'full' | 'changed'>
    /** Keeps the `count` addresses that were bound first. */
    keepEarliest(tokenId: number, count: number): Promise<void>
    clear(tokenId: number): Promise<number>
    /** Moves the last use of addresses that are still bound forward, never back. */
    touch(uses: readonly { tokenId: number; address: string; atMs: number }[]): Promise<void>
  }
  revocations: {
    /** Idempotent. */
    add(tokenId: number, jti: string, atMs: number): Promise<void>
    count(tokenId: number): Promise<number>
    clear(tokenId: number): Promise<void>
  }
  changes: {
    /** Tells every node, after commit, to forget what it knows of this. */
    append(change: Change & { atMs: number }): Promise<void>
    /** Drops entries older than this; readers that are further behind get `reset`. */
    prune(beforeMs: number): Promise<number>
  }
  outbox: {
    append(event: OutboxEvent): Promise<number>
    /** Removes the oldest events that no other node is taking, and answers them. */
    take(limit: number): Promise<(OutboxEvent & { id: number })[]>
  }
  webhooks: WebhookTx
  nodes: NodeTx
  sessions: SessionTx
  feeds: FeedTx
  viewing: ViewingTx
  recordings: RecordingTx
  usage: UsageTx
  deliveries: DeliveryTx
  /** Takes the sources of pulls out of records of earlier versions, of at most so many; answers how many it looked at. */
  leftSources: {
    ofAudit(limit: number): Promise<number>
    ofRuns(limit: number): Promise<number>
    /** Of deliveries that were made before, each once. */
    ofDeliveries(untilMs: number, limit: number): Promise<number>
    ofEngines(): Promise<void>
  }
  audit: {
    append(row: AuditRow): Promise<void>
    /** Deletes at most `limit` rows that are older, oldest first; answers how many it deleted. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
  accessLog: AccessLogTx
}
