import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { UsageRow } from '../core/usage/report.ts'
import type { Bytes, FeedFacts, Session } from '../core/sessions/types.ts'

// The part of the store's interface that live sessions need. Import it from `store.ts`, which is the one door.

/** A session as stored. */
export interface StoredSession extends Session, Bytes {
  /** Who holds the connection. */
  readonly node: string
  /** Of a publisher whose media has begun. */
  readonly feedId: string | null
  readonly endedAtMs: number | null
  readonly endReason: SessionEndReason | null
  /** Why it is to be ended; the node that holds it will do so. */
  readonly kick: SessionEndReason | null
}

export interface StoredFeed extends FeedFacts {
  readonly node: string
}

export interface EndedFeed extends StoredFeed {
  readonly endedAtMs: number
}

/** Who is on. All given filters hold. */
export interface SessionQuery {
  readonly accountId: string
  readonly tokenId?: number
  readonly streamName?: string
  readonly protocol?: string
  readonly action?: string
  readonly address?: string
  /** Only sessions that were admitted before this one. */
  readonly after?: string
  readonly limit: number
}

/** A process that begins to serve. */
export interface NewNode {
  /** New at each start. */
  readonly id: string
  /** The machine and the data directory: a process that starts there knows which others of that place are dead. */
  readonly place: string
  readonly pid: number
  /** Where clients reach it; null when that was not configured. */
  readonly url: string | null
}

/** A process that serves. Times are those of the database. */
export interface Node extends NewNode {
  /** When its lease was last renewed. */
  readonly seenAtMs: number
  /** Its lease has run out. */
  readonly isExpired: boolean
}

/** Sessions of a stream, or without its name of the whole account. */
export interface SessionScope {
  readonly accountId: string
  readonly streamName?: string
}

/** How a session ended: its last totals, when, and why. */
export interface SessionEnd extends Bytes {
  readonly id: string
  readonly atMs: number
  readonly reason: SessionEndReason
}

export interface Stream {
  readonly accountId: string
  readonly streamName: string
}

/** A question for sums of usage. The time is half open; what is named must match. */
export interface UsageQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
  readonly groupBy: readonly ('slot' | 'streamName' | 'trackingId' | 'country')[]
  /** How long a slot is. */
  readonly slot: 'hour' | 'day'
  readonly streamNames?: readonly string[]
  readonly trackingIds?: readonly string[]
  readonly limit: number
}

export interface UsageReads {
  /** Sorted by what they are grouped by; fields that are not grouped by are empty or 0. */
  sum(query: UsageQuery): Promise<UsageRow[]>
}

export interface UsageTx {
  /** Deletes at most `limit` hours that began earlier; answers how many rows it deleted. */
  prune(beforeMs: number, limit: number): Promise<number>
}

export interface SessionReads {
  get(id: string): Promise<StoredSession | undefined>
  /** Those that are on, newest first. */
  page(query: SessionQuery): Promise<StoredSession[]>
  /** How many are on. */
  count(scope: SessionScope): Promise<number>
  /** Sessions of a node that are to be ended. */
  kicked(node: string, limit: number): Promise<{ id: string; reason: SessionEndReason }[]>
}

/** A feed of another node, with the address at which clients reach that. */
export type RemoteFeed = StoredFeed & Pick<Node, 'url'>

export interface FeedReads {
  /** The tokens of the feeds that are on the air, on all nodes; of one stream, or of all of the account. Ascending. */
  tokenIds(accountId: string, streamName?: string): Promise<number[]>
  /** On the air, on all nodes, oldest first. */
  open(limit: number): Promise<StoredFeed[]>
  /** Those of all other nodes, oldest first. */
  remote(node: string, limit: number): Promise<RemoteFeed[]>
  /** Those of one stream at other nodes, oldest first. */
  remoteOf(node: string, stream: Stream): Promise<RemoteFeed[]>
}

export interface NodeReads {
  list(): Promise<Node[]>
}

export interface ViewingReads {
  /** Streams that had viewers, and whose last viewer left before this time. */
  deserted(beforeMs: number, limit: number): Promise<Stream[]>
}

export interface NodeTx {
  /** With a lease of this length, from now on. */
  insert(node: NewNode, leaseMs: number): Promise<void>
  /** Renews the lease. False: the node was given up, and its sessions are ended. */
  renew(id: string, leaseMs: number): Promise<boolean>
  /** Keeps others from giving the node up until the transaction ends. False: it was given up. */
  lockShared(id: string): Promise<boolean>
  /**
   * Locks a node whose lease has run out, or that is known to be dead, and gives it up for good: its lease is never
   * renewed again. Answers when it was last seen; undefined: it lives, is gone, or another node is at it.
   */
  giveUp(id: string, isKnownDead: boolean): Promise<number | undefined>
  delete(id: string): Promise<void>
}

export interface SessionTx {
  insert(session: Session, node: string): Promise<void>
  /** Notes that the session's media has begun. Undefined: it has ended. */
  attach(id: string, feedId: string): Promise<StoredSession | undefined>
  /** Ends those of the sessions that are on, with their last totals, which count as by `count`. */
  end(ends: readonly SessionEnd[]): Promise<void>
  /** Ends at most `limit` sessions of a node, publishers first; answers how many. None ends before it began. */
  endOfNode(node: string, end: { atMs: number; reason: SessionEndReason; limit: number }): Promise<number>
  /** Asks its node to end a session that is on. Undefined: it was asked before, or there is none. */
  kick(which: { accountId: string; id: string }, reason: SessionEndReason): Promise<StoredSession | undefined>
  /** Asks the nodes to end at most `limit` sessions of a scope; answers how many were not asked before. */
  kickAll(scope: SessionScope, reason: SessionEndReason, limit: number): Promise<number>
  /**
   * Writes totals and adds what is new in them to the hour of `atMs`, by stream, protocol, token, tracking id and
   * country. Totals only rise: to write the same ones again changes nothing. Answers the ids of those that had ended.
   * The hours are shared by all nodes: let this be the last of its transaction, so that they are held for a moment only.
   */
  count(totals: readonly (Bytes & { id: string })[], atMs: number): Promise<string[]>
  /** Deletes at most `limit` sessions and feeds that ended earlier; answers how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

export interface FeedTx {
  /** @throws Conflict when the source is on the air */
  insert(feed: StoredFeed): Promise<void>
  /** Those of a stream that are on the air; nobody begins one of it until the transaction ends. */
  lockOpen(stream: Stream): Promise<StoredFeed[]>
  /** When a feed of the stream ended last; null: never, as far as is known. */
  lastEnd(stream: Stream): Promise<number | null>
  end(feedId: string, atMs: number): Promise<StoredFeed | undefined>
  /** Ends the feeds of sessions that have one on the air. */
  endOfSessions(ends: readonly { id: string; atMs: number }[]): Promise<EndedFeed[]>
  /** Ends all of a node, none before it began. */
  endOfNode(node: string, atMs: number): Promise<EndedFeed[]>
}

export interface ViewingTx {
  /** True at most once per `quietMs` and stream: tell of this attempt. */
  attempt(stream: Stream, atMs: number, quietMs: number): Promise<boolean>
  /** Somebody views. True for the first since the stream had no viewers. */
  begin(stream: Stream): Promise<boolean>
  /** True once, when the last viewer left before this time and none has come. */
  desert(stream: Stream, beforeMs: number): Promise<boolean>
  /** Forgets attempts that are older. */
  prune(beforeMs: number): Promise<number>
}
