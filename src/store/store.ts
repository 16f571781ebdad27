import type { DiskSpace } from '../base/diskSpace.ts'
import type { ActorIdentity } from '../core/actor.ts'
import type { SealedKind } from '../core/sealed.ts'
import type { AcmeReads, AcmeTx } from './acme.ts'
import type { AttentionReads } from './attention.ts'
import type { AudienceReads, AudienceTx } from './audience.ts'
import type { DatedChange, DueKinds, DueQuery, WatchListener } from './due.ts'
import type { AccessLogReads, AccessLogTx } from './accessLog.ts'
import type {
  FeedReads,
  FeedTx,
  NodeReads,
  NodeTx,
  SessionReads,
  SessionTx,
  StreamNodeReads,
  StreamNodeTx,
  ViewingReads,
  ViewingTx,
} from './sessions.ts'
import type { FeedHealthReads, FeedHealthTx } from './feedHealth.ts'
import type { MinuteReads, MinuteTx } from './minutes.ts'
import type { CacheLogTx, UsageReads, UsageTx } from './usage.ts'
import type { PoolConnections } from './leases/types.ts'
import type { PageCheck } from './pageCheck.ts'
import type { RecordingReads, RecordingTx } from './recordings.ts'
import type { ChannelReads, ChannelTx } from './channels.ts'
import type { RunReads, RunTx } from './runs.ts'
import type { PeopleReads, PeopleTx } from './users.ts'
import type { TokenNounReads, TokenNounTx } from './tokens.ts'
import type { ViewerSeatReads, ViewerSeatTx } from './viewerSeats.ts'
import type { DeliveryReads, DeliveryTx, WebhookReads, WebhookTx } from './webhooks.ts'

export type * from './accessLog.ts'
export type * from './acme.ts'
export type * from './audience.ts'
export type * from './channels.ts'
export type * from './due.ts'
export type * from './feedHealth.ts'
export type * from './leases/types.ts'
export type * from './minutes.ts'
export type * from './pulls.ts'
export type * from './recordings.ts'
export type * from './restreamEvents.ts'
export type * from './runs.ts'
export type * from './sessions.ts'
export type * from './tokens.ts'
export type * from './usage.ts'
export type * from './users.ts'
export type * from './webhooks.ts'

/**
 * The interface to all stored data. SQLite and PostgreSQL implement it; callers do not know which one they use.
 * `test/conformance/store.ts` checks every verb on both.
 */
export interface Store {
  /**
   * Runs `work` in one durable transaction: all of it is on disk when the promise resolves, none of it when it rejects.
   * `work` may await only verbs of `tx`, and must not use the store itself (it would wait for itself). It runs again, at most three
   * times, if PostgreSQL has given it up because of another one, as in a deadlock.
   * Concurrent transactions may share a commit; one that throws does not affect the others.
   * @throws StoreUnavailable when the database cannot be reached or cannot write (disk full, connection lost)
   * @throws Conflict when a unique value exists already
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Committed data, outside any transaction. */
  readonly read: Reads
  /**
   * Calls `listener` with `changed` when another node may have committed a change: read it with `changesSince`. Calls it with
   * `second` at least once a second, because a notification may be lost, and SQLite sends none. Returns the function that
   * unsubscribes.
   */
  watch(listener: WatchListener): () => void
  /** True when another process may have committed since the last call. Cheap (a microsecond) and synchronous; a store that
   * cannot know returns false and relies on `watch`. */
  changedRemotely(): boolean
  /** Changes committed after `cursor` (null: none, only the current position). Each once.
   * `reset` is true when the position is too old: then drop everything cached. */
  changesSince(cursor: string | null): Promise<{ changes: DatedChange[]; cursor: string; reset: boolean }>
  /** What there is to do, in one read. */
  due(query: DueQuery): Promise<DueKinds>
  /** Space on the disk of the data; null for a database server, which does not report it, and when the disk cannot be asked. */
  diskSpace(): Promise<DiskSpace | null>
  /** Rejects with StoreUnavailable when a read or a write would. */
  ping(): Promise<void>
  /** The time of the database, epoch milliseconds. With SQLite that is the clock of this machine. */
  time(): Promise<number>
  /** Null with SQLite, which has no server. */
  connections(): Promise<PoolConnections | null>
  /** The tables of the database, the largest first. Holds nothing up, and may take seconds. */
  tableSizes(): Promise<TableSize[]>
  /** Looks for damaged pages, which may take seconds and holds nothing up. Null: a server does. @throws StoreUnavailable */
  checkPages(): Promise<PageCheck | null>
  /** Finishes what is queued, then closes. Idempotent. */
  close(): Promise<void>
}

/** How much is in a table. */
export interface TableSize {
  readonly name: string
  /** PostgreSQL estimates. */
  readonly rows: number
  /** There are more rows than were counted: the database is too large to read all of it. */
  readonly hasMore: boolean
  /** With its indexes. Null if not all of the database was read. */
  readonly bytes: number | null
}

/** The database is unreachable or cannot write. The API answers 503 with Retry-After. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  /** The answer to a commit is lost. Otherwise nothing was written. */
  readonly mayHaveWritten: boolean = false
  /** Its disk is full. */
  readonly isDiskFull: boolean
  /** Why, for clients too: an operator can mend it. Null: that it cannot be reached says enough. */
  readonly publicReason: string | null

  constructor(
    message: string,
    {
      isDiskFull = false,
      publicReason = isDiskFull ? 'the disk of the database is full' : null,
      ...options
    }: ErrorOptions & { isDiskFull?: boolean; publicReason?: string | null } = {},
  ) {
    super(message, options)
    this.isDiskFull = isDiskFull
    this.publicReason = publicReason
  }
}

export const isUnavailable = (error: unknown): error is StoreUnavailable => error instanceof StoreUnavailable

/** A unique value exists already. `what` names it in the terms of the interface. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
  readonly what: string
  constructor(what: string, options?: ErrorOptions) {
    super(`${what} exists already`, options)
    this.what = what
  }
}

export interface ApiSecret {
  id: number
  accountId: string
  name: string
  /** The last four characters, so that users can tell secrets apart. */
  hint: string
  createdAtMs: number
  refreshedAtMs: number | null
  /** The last use, with a delay of about a minute; null: none that was recorded. */
  usedAtMs: number | null
}

/** A Basic credential of the channels interface: `key` is public, the secret is stored as SHA-256. */
export interface StoredCredential {
  id: number
  accountId: string
  name: string
  key: string
  scope: 'read' | 'write'
  createdAtMs: number
  /** As of a secret. */
  usedAtMs: number | null
}

/** An event for webhooks, written in the transaction of the change that caused it. */
export interface OutboxEvent {
  accountId: string
  type: string
  event: string
  /** The name that a webhook's filter must match: of a stream or a transcoder. */
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

export interface StoredAuditRow extends AuditRow {
  id: number
}

/** A page of the audit log, newest first. */
export interface AuditQuery {
  accountId: string
  /** The stored form, such as `user:3`. */
  actor?: string
  action?: string
  fromMs?: number
  untilMs?: number
  after?: { atMs: number; id: number }
  limit: number
}

/** A request to a serving node: to read its configuration again, or to say something of itself. */
export interface NodeRequest {
  readonly id: string
  readonly nodeId: string
  /** Only say what would change. */
  readonly isCheck: boolean
  /** What it is to say; null: it is to read its configuration. */
  readonly report: string | null
}

/** Numbers of rows that name a viewer. */
export interface ViewerTraces {
  readonly sessions: number
  readonly accessLog: number
  readonly bindings: number
  /** Sums by hour, of streams and of distributions. */
  readonly usage: number
}

/** What a name in the files of `provision/` made. */
export interface Provisioned {
  readonly kind: string
  readonly name: string
  readonly resourceId: string
}

/** A sealed value of any table, and the row that it is in. */
export interface SealedValue {
  readonly id: string | number
  readonly sealed: Uint8Array
}

/** Sealed values of one kind, for the rotation of their key. */
export interface SealedTx {
  /** Locks values that another key than this one sealed, by id. */
  lockOthers(
    kind: SealedKind,
    query: { keyId: string; after: SealedValue['id'] | null; limit: number },
  ): Promise<SealedValue[]>
  replace(kind: SealedKind, value: SealedValue): Promise<void>
}

/** Reads return undefined for what does not exist; they do not throw for it. */
export interface Reads extends ChannelReads, RunReads, PeopleReads, TokenNounReads {
  secrets: {
    get(accountId: string, id: number): Promise<ApiSecret | undefined>
    findByHash(hash: Uint8Array): Promise<ApiSecret | undefined>
    list(accountId: string): Promise<ApiSecret[]>
  }
  credentials: {
    findByKey(key: string): Promise<(StoredCredential & { secretHash: Uint8Array }) | undefined>
    list(accountId: string): Promise<StoredCredential[]>
  }
  attention: AttentionReads
  acme: AcmeReads
  accessLog: AccessLogReads
  outbox: {
    /** Oldest first; for delivery and for tests. */
    pending(limit: number): Promise<(OutboxEvent & { id: number })[]>
  }
  webhooks: WebhookReads
  nodes: NodeReads
  sessions: SessionReads
  feeds: FeedReads
  feedHealth: FeedHealthReads
  streamNodes: StreamNodeReads
  viewerSeats: ViewerSeatReads
  viewing: ViewingReads
  recordings: RecordingReads
  usage: UsageReads
  audience: AudienceReads
  minutes: MinuteReads
  deliveries: DeliveryReads
  reloads: {
    /** Requests to a node to reload without an answer, the oldest first. */
    waiting(nodeId: string, limit: number): Promise<NodeRequest[]>
    /** What else a node was asked and has not answered, each once. */
    reports(nodeId: string): Promise<string[]>
    /** JSON; null: none yet. */
    answer(id: string): Promise<string | null>
  }
  viewerTraces: {
    count(accountId: string, by: 'address' | 'trackingId', value: string): Promise<ViewerTraces>
  }
  audit: {
    /** Newest first. */
    recent(accountId: string, limit: number): Promise<StoredAuditRow[]>
    /** The actions of the newest rows, newest first. */
    actions(accountId: string, limit: number): Promise<{ id: number; action: string }[]>
    /** Newest first, by time and id. */
    page(query: AuditQuery): Promise<StoredAuditRow[]>
  }
}

/** The verbs in a transaction: they see what the transaction wrote. */
export interface Tx extends ChannelTx, RunTx, PeopleTx, TokenNounTx {
  acme: AcmeTx
  secrets: {
    /** @throws Conflict when the account has a secret of this name */
    insert(secret: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }): Promise<ApiSecret>
    list(accountId: string): Promise<ApiSecret[]>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: number): Promise<ApiSecret | undefined>
    /** Gives the secret a new value; the old one becomes invalid. */
    replace(id: number, hash: Uint8Array, hint: string, atMs: number): Promise<void>
    /** Raises the last use; never lowers it. */
    touch(id: number, atMs: number): Promise<void>
    delete(id: number): Promise<void>
  }
  credentials: {
    insert(
      credential: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array },
    ): Promise<StoredCredential>
    list(accountId: string): Promise<StoredCredential[]>
    get(accountId: string, id: number): Promise<StoredCredential | undefined>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: number): Promise<StoredCredential | undefined>
    /** Raises the last use; never lowers it. */
    touch(id: number, atMs: number): Promise<void>
    delete(id: number): Promise<void>
  }
  changes: {
    /** Makes every node drop its cached entry after the commit. */
    append(change: DatedChange): Promise<void>
    /** Deletes older entries; readers that are further behind get `reset`. */
    prune(beforeMs: number): Promise<number>
  }
  outbox: {
    append(...events: OutboxEvent[]): Promise<void>
    /** Removes and returns the oldest events that no other node is taking. */
    take(limit: number): Promise<(OutboxEvent & { id: number })[]>
  }
  webhooks: WebhookTx
  sealed: SealedTx
  reloads: {
    insert(request: NodeRequest, askedAtMs: number): Promise<void>
    answer(id: string, answer: string): Promise<void>
    /** Answers all that a node was asked of this kind. */
    answerReports(of: { nodeId: string; report: string; answer: string }): Promise<void>
    delete(id: string): Promise<void>
    /** Deletes older requests. */
    prune(beforeMs: number): Promise<number>
  }
  provisioned: {
    list(accountId: string): Promise<Provisioned[]>
    get(accountId: string, row: Pick<Provisioned, 'kind' | 'name'>): Promise<Provisioned | undefined>
    /** Adds the name, or replaces what it made. */
    put(accountId: string, row: Provisioned): Promise<void>
    delete(accountId: string, row: Pick<Provisioned, 'kind' | 'name'>): Promise<void>
  }
  /** Each verb handles at most `limit` rows and returns how many; 0: there are no more. */
  viewerTraces: {
    forgetSessions(
      of: { accountId: string; by: 'address' | 'trackingId'; value: string },
      limit: number,
    ): Promise<number>
    forgetAccessLog(accountId: string, address: string, limit: number): Promise<number>
    /** Returns the tokens that the address was bound to. */
    forgetBindings(accountId: string, address: string, limit: number): Promise<number[]>
    /** Hours, and one slot of distributions. */
    forgetUsage(accountId: string, trackingId: string, limit: number): Promise<number>
  }
  nodes: NodeTx
  sessions: SessionTx
  feeds: FeedTx
  feedHealth: FeedHealthTx
  streamNodes: StreamNodeTx
  viewerSeats: ViewerSeatTx
  viewing: ViewingTx
  recordings: RecordingTx
  usage: UsageTx
  audience: AudienceTx
  cacheLogs: CacheLogTx
  minutes: MinuteTx
  deliveries: DeliveryTx
  audit: {
    append(...rows: AuditRow[]): Promise<void>
    /** Deletes at most `limit` older rows, oldest first; returns how many. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
  accessLog: AccessLogTx
}
