import type { UsageRow } from '../core/usage/report.ts'
import type { Bytes, FeedFacts, LiveSession } from '../core/sessions/types.ts'

// The part of the store's interface that live sessions need. Import it from `store.ts`, which is the one door.

/** A session as stored. */
export interface StoredSession extends LiveSession, Bytes {
  /** Who holds the connection. */
  readonly node: string
  /** Of a publisher whose media has begun. */
  readonly feedId: string | null
  readonly endedAtMs: number | null
  readonly endReason: string | null
  /** Why it is to be ended; the node that holds it will do so. */
  readonly kick: string | null
}

export interface StoredFeed extends FeedFacts {
  readonly node: string
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

/** A process that serves. */
export interface Node {
  /** New at each start. */
  readonly id: string
  /** The machine and the data directory: a process that starts there knows which others of that place are dead. */
  readonly place: string
  readonly pid: number
  /** Its last sign of life. */
  readonly seenAtMs: number
  /** Believed to be alive until then. */
  readonly aliveUntilMs: number
  /** Where clients reach it; null when that was not configured. */
  readonly url: string | null
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
  /** Sessions of a node that are to be ended. */
  kicked(node: string, limit: number): Promise<{ id: string; reason: string }[]>
}

/** Sessions of an account: one, those of a stream, or all. */
export type Kicked = { readonly accountId: string; readonly id: string } | Stream | AllOf

interface AllOf {
  readonly accountId: string
  readonly all: true
}

export interface FeedReads {
  /** The tokens of the feeds that are on the air, on all nodes; of one stream, or of all of the account. Ascending. */
  tokenIds(accountId: string, streamName?: string): Promise<number[]>
  /** On the air, on all nodes, oldest first. */
  open(limit: number): Promise<StoredFeed[]>
  /** Those of all other nodes. */
  elsewhere(node: string, limit: number): Promise<(StoredFeed & Pick<Node, 'url'>)[]>
}

export interface NodeReads {
  list(): Promise<Node[]>
}

export interface ViewingReads {
  /** Streams that had viewers, and whose last viewer left before this time. */
  deserted(beforeMs: number, limit: number): Promise<Stream[]>
}

export interface NodeTx {
  insert(node: Node): Promise<void>
  /** A sign of life. False: the node was given up, and its sessions were ended. */
  beat(id: string, seenAtMs: number, aliveUntilMs: number): Promise<boolean>
  /** Keeps others from giving the node up until the transaction ends. False: it was given up. */
  hold(id: string): Promise<boolean>
  /** Locks a node, if it still is what it was when it was found dead. */
  lockDead(node: Node): Promise<boolean>
  delete(id: string): Promise<void>
}

export interface SessionTx {
  insert(session: LiveSession, node: string): Promise<void>
  /** Notes that the session's media has begun. Undefined: it has ended. */
  attach(id: string, feedId: string): Promise<StoredSession | undefined>
  /** Ends a session that is on; undefined: it was not. */
  end(id: string, atMs: number, reason: string): Promise<StoredSession | undefined>
  /** Ends all of a node; answers how many. None ends before it began. */
  endOfNode(node: string, atMs: number, reason: string): Promise<number>
  /** Asks the nodes to end sessions that are on; answers those that were not asked for before. */
  kick(which: Kicked, reason: string): Promise<StoredSession[]>
  /**
   * Writes totals and adds what is new in them to the hour of `atMs`, by stream, protocol, token, tracking id and
   * country. Totals only rise: to write the same ones again changes nothing. Answers the ids of those that had ended.
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
  endOfSession(sessionId: string, atMs: number): Promise<StoredFeed | undefined>
  /** Ends all of a node, none before it began. */
  endOfNode(node: string, atMs: number): Promise<(StoredFeed & { endedAtMs: number })[]>
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
