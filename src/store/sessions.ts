import type { StreamRef } from '../core/streams/streamId.ts'
import type { RtmpPorts } from '../core/nodes/drain.ts'
import type { MediaProcessEnd, NodeLoadReading } from '../core/nodes/load.ts'
import type { NodeLink } from '../core/nodes/nodeLinks.ts'
import type { ViewerQuality } from '../core/quality/viewerQuality.ts'
import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { Bytes, FeedFacts, Session, SessionScope } from '../core/sessions/types.ts'
import type { RecentFeed } from '../core/streams/monitoring.ts'
import type { StreamViewing } from '../core/streams/reading.ts'

// The store's interface for sessions. Import it from `store.ts`.

/** A session as stored. */
export interface StoredSession extends Session, Bytes {
  /** The node that has the connection. */
  readonly node: string
  /** The feed of a publisher whose media has begun; of a spare the one that it had last. */
  readonly feedId: string | null
  /** Of a publisher among those of its source; null: the lowest. */
  readonly priority: number | null
  /** A publisher whose media has begun, while another one of its source is on the air. */
  readonly isSpare: boolean
  readonly endedAtMs: number | null
  readonly endReason: SessionEndReason | null
  /** Why it must end; its node ends it. */
  readonly kick: SessionEndReason | null
  /** Sent to it by caches, beside `bytesOut`. */
  readonly bytesFromCaches: number
  /** How well it played, as its player reported; null: it did not. */
  readonly quality: ViewerQuality | null
}

export interface StoredFeed extends FeedFacts {
  /** Whether users have it recorded since it began; null: publisher and token say it. */
  readonly recordSwitch: boolean | null
  /** Of its publisher among those of one source; null: the lowest. */
  readonly priority: number | null
  readonly node: string
}

/** What the node of a feed measured of it. */
export interface FeedReport {
  readonly feedId: string
  /** JSON of a `FeedReading`; null: the feed is over. */
  readonly reading: string | null
  readonly mostViewers: number
  readonly bytesOut: number
}

/** Bytes of a feed that a node other than its own sent to viewers. */
export interface FeedBytes {
  readonly feedId: string
  readonly node: string
  readonly bytesOut: number
}

/** A range of streams by name, both ends included, at all nodes except one. */
export interface ViewingQuery {
  readonly accountId: string
  readonly from: string
  readonly to: string
  readonly except: string
}

/** A feed on the air, with what others have stored about it. */
export interface OnAirFeed extends StoredFeed {
  /** Where clients reach its node; null: not configured. */
  readonly url: string | null
  /** Null: its token was deleted. */
  readonly tokenLabel: string | null
  readonly protocol: Session['protocol']
  /** How many publishers of its source are spares. */
  readonly spares: number
  readonly isRecorded: boolean
  readonly reading: string | null
  readonly mostViewers: number
}

/** A broadcast that is over. */
export interface Broadcast extends EndedFeed {
  /** Null: its token was deleted. */
  readonly tokenLabel: string | null
  /** Null: its session is no longer stored. */
  readonly protocol: Session['protocol'] | null
  readonly bytesIn: number | null
  /** Null: its session has not ended yet, or is no longer stored. */
  readonly endReason: SessionEndReason | null
  readonly mostViewers: number
  readonly bytesOut: number
}

/** A page of broadcasts that are over, the last to end first. */
export interface BroadcastQuery {
  readonly accountId: string
  readonly streamName?: string
  /** Only streams that are off the air, each with its last broadcast. */
  readonly isLast?: true
  /** Part of the stream's name, in any case. */
  readonly search?: string
  /** Only broadcasts that ended before this one. */
  readonly after?: { readonly atMs: number; readonly id: string }
  readonly limit: number
}

export interface RecentFeedQuery {
  readonly accountId: string
  readonly streamName?: string
  readonly sinceMs: number
  readonly limit: number
}

/** A page of streams on the air, by name. */
export interface OnAirQuery {
  readonly accountId: string
  /** Only this stream. */
  readonly streamName?: string
  /** Only streams with a later name. */
  readonly after?: string
  /** The most streams; a stream may have several feeds. */
  readonly limit: number
}

export interface EndedFeed extends StoredFeed {
  readonly endedAtMs: number
}

/** How a feed ended whose session is over. */
export interface FeedEnd {
  readonly sessionId: string
  readonly node: string
  readonly reason: SessionEndReason
  readonly atMs: number
}

/** A page of active sessions that match all given filters. */
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

/** A process that starts to serve. */
export interface NewNode {
  /** New at each start. */
  readonly id: string
  /** The host key: machine and data directory. A process with the same one can tell which others are dead. */
  readonly hostKey: string
  readonly pid: number
  /** The address for clients; null when it is not configured. */
  readonly url: string | null
}

/** What a serving process says of itself. */
export interface NodeFacts extends NodeLoadFacts, RtmpPorts {
  readonly version: string
  /** Processor cores of its machine. */
  readonly cores: number
  /** `server.region`; empty: none. */
  readonly region: string
}

/** The same, as others read it. */
export interface ReportedFacts extends NodeFacts {
  /** How old the load is, milliseconds by the time of the database. */
  readonly ageMs: number
}

/** How busy a node is, and what it shares with others. */
export interface NodeLoadFacts extends NodeLoadReading {
  /** Null: it does not say. */
  readonly links: readonly NodeLink[] | null
  /** The latest media process that ended by itself or hung; null: none did. */
  readonly mediaProcessEnd: MediaProcessEnd | null
  /** How busy the cores of its machine are, 0 to 100. Null: not measured yet. */
  readonly cpuPercent: number | null
}

/** A process that serves. Times are by the clock of the database. */
export interface Node extends NewNode {
  /** The last renewal of its lease. */
  readonly seenAtMs: number
  /** Its lease has expired. */
  readonly isExpired: boolean
  /** When it was asked to drain; null: it was not. */
  readonly drainingSinceMs: number | null
}

/** The end of a session: its last totals, the time and the reason. */
export interface SessionEnd extends Bytes {
  readonly id: string
  readonly atMs: number
  readonly reason: SessionEndReason
}

/** What the player of a session reported so far, see `core/quality/sessionQuality.ts`. */
export interface SessionReport {
  readonly id: string
  /** JSON. */
  readonly quality: string
}

export interface SessionReads {
  get(id: string): Promise<StoredSession | undefined>
  /** Active sessions, newest first. */
  page(query: SessionQuery): Promise<StoredSession[]>
  /** The number of active sessions. */
  count(scope: SessionScope): Promise<number>
  /** Sessions of a node that must end. */
  kicked(node: string, limit: number): Promise<{ id: string; reason: SessionEndReason }[]>
}

/** A feed with the address of its node for clients. */
export type LocatedFeed = StoredFeed & Pick<Node, 'url'>

export interface FeedReads {
  /** The tokens of feeds on the air at all nodes, of one stream or of the whole account. Ascending. */
  tokenIds(accountId: string, streamName?: string): Promise<number[]>
  /** Names of streams with a feed on record, in order of name. */
  recentNames(accountId: string, limit: number): Promise<string[]>
  /** Ids of the feeds on the air at a node. */
  openIds(node: string): Promise<string[]>
  /** Feeds on the air at a node that users have recorded, or no longer. */
  switched(node: string): Promise<StoredFeed[]>
  /** Feeds on the air at all nodes except `node`, oldest first. */
  remote(node: string, limit: number): Promise<LocatedFeed[]>
  /** The feeds of a page of streams at all nodes: by name, then the oldest first. */
  onAir(query: OnAirQuery): Promise<OnAirFeed[]>
  /** Feeds on the air, and those that ended since, of the stream or of all: the oldest first. Beyond the limit the newest. */
  recent(query: RecentFeedQuery): Promise<RecentFeed[]>
  /** Feeds that have ended, with what was counted of them. */
  broadcasts(query: BroadcastQuery): Promise<Broadcast[]>
  /** The end of the last broadcast of a source, or of the whole stream for a null id; null: there is none on record. */
  lastEnd(source: StreamRef & { readonly sourceId: string | null }): Promise<FeedEnd | null>
  /** Feeds of one stream at all nodes except `node`, oldest first. */
  remoteOf(node: string, stream: StreamRef): Promise<LocatedFeed[]>
  /** Feeds of several streams at all nodes, oldest first. */
  openOf(streams: readonly StreamRef[]): Promise<LocatedFeed[]>
}

export interface NodeReads {
  list(): Promise<Node[]>
  /** Nodes that may be dead: those whose lease has expired, and those of this host. */
  doubtful(hostKey: string): Promise<Node[]>
  /** Whether no node that registered before this one is alive. */
  isFirst(id: string): Promise<boolean>
  /** The ids of the keys that nodes seal with, by node. */
  keys(): Promise<ReadonlyMap<string, string>>
  /** What each node does for an account; nodes that do nothing are left out. */
  activity(query: ActivityQuery): Promise<NodeActivity[]>
  /** What each node has open, of all accounts; nodes without anything are left out. Reads all open sessions. */
  open(): Promise<OpenAtNode[]>
  /** By the id of the node. */
  facts(): Promise<ReadonlyMap<string, ReportedFacts>>
}

/** The minutes whose bytes count: from the first, before the last. */
export interface ActivityQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
}

/** Open sessions, and the bytes of the queried minutes. */
export interface NodeActivity extends Bytes {
  readonly node: string
  readonly publishers: number
  readonly viewers: number
}

/** Open sessions and feeds. */
export interface OpenAtNode {
  readonly node: string
  readonly publishers: number
  readonly viewers: number
  readonly feeds: number
}

export interface ViewingReads {
  /** Streams that had viewers, and whose last viewer left before this time. */
  idle(beforeMs: number, limit: number): Promise<StreamRef[]>
}

export interface NodeTx {
  /** Inserts the node with a lease of this length. */
  insert(node: NewNode, leaseMs: number): Promise<void>
  /** A number above the one that this returned before, at any node, by at least `step`, and not below `least`. */
  nextStart(least: number, step: number): Promise<number>
  /** Records the id of the key that a new node seals with. */
  setKey(id: string, keyId: string): Promise<void>
  /** Records what a new node says of itself, and later how busy it is; nothing then if the node is gone. */
  insertFacts(id: string, facts: NodeFacts): Promise<void>
  setLoad(id: string, load: NodeLoadFacts): Promise<void>
  /** Locks the node, so that no other can give it up until the transaction ends. False: it was given up. */
  lockShared(id: string): Promise<boolean>
  /**
   * Locks a node whose lease has expired, or that is known to be dead, and gives it up: its lease is never renewed again.
   * Returns the last renewal. Undefined: the node is alive or deleted, or another node is giving it up.
   */
  giveUp(id: string, isKnownDead: boolean): Promise<number | undefined>
  /** Asks the node to drain; a later request changes nothing. False: there is no such node, or it was given up. */
  drain(id: string): Promise<boolean>
  delete(id: string): Promise<void>
}

/** What the rules of a token read of its sessions. Several of one client are one. */
export type SessionAttempt = Pick<Session, 'action' | 'protocol' | 'streamName' | 'address' | 'origin' | 'country'>

export interface SessionTx {
  /** Of the open sessions of a token, the oldest first, at most `limit`. */
  attempts(token: { readonly id: number; readonly accountId: string }, limit: number): Promise<SessionAttempt[]>
  insert(session: Session, node: string, priority?: number | null): Promise<void>
  /** Locks the open sessions that publish a stream, in the order of every lock on several sessions. */
  lockPublishers(stream: StreamRef): Promise<void>
  /** Sets the session's feed when its media begins. Undefined: the session has ended, or was asked to end. */
  attach(id: string, feedId: string): Promise<StoredSession | undefined>
  /** The publisher has media and is not on the air, until its next `attach`. */
  makeSpare(id: string): Promise<void>
  /** Asks the nodes of the other spares of its source with this priority to end them as replaced; returns their ids. */
  replaceSpares(
    of: Pick<Session, 'id' | 'accountId' | 'streamName' | 'sourceId'>,
    priority: number | null,
  ): Promise<string[]>
  /** Ends those of the sessions that are active, with their last totals. */
  end(ends: readonly SessionEnd[]): Promise<void>
  /** Ends at most `limit` sessions of a node, publishers first; returns how many. No session ends before it began. */
  endOfNode(node: string, end: { atMs: number; reason: SessionEndReason; limit: number }): Promise<number>
  /** Asks its node to end an active session. Undefined: it was asked before, or there is no such session. */
  kick(which: { accountId: string; id: string }, reason: SessionEndReason): Promise<StoredSession | undefined>
  /** Asks the nodes to end at most `limit` sessions of a scope; returns for how many this is the first request. */
  kickAll(scope: SessionScope, reason: SessionEndReason, limit: number): Promise<number>
  /** Writes totals. Idempotent, because totals only rise. Returns the ids of sessions that had ended. */
  count(totals: readonly (Bytes & { id: string })[]): Promise<string[]>
  /** Replaces what players reported, of sessions that are open or over. Those of forgotten viewers get nothing. */
  report(reports: readonly SessionReport[]): Promise<void>
  /** Deletes at most `limit` sessions and feeds that ended earlier; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

export interface FeedTx {
  /** @throws Conflict when the source is on the air */
  insert(feed: StoredFeed): Promise<void>
  /** The feeds of a stream on the air; locks the stream, so that no feed of it begins until the transaction ends. */
  lockOpen(stream: StreamRef): Promise<StoredFeed[]>
  /**
   * The last end of a feed of the stream, epoch milliseconds; null: no ended feed is stored. Feeds that ended later than
   * `latestMs`, by a clock that was wrong, are moved to end at `atMs`, and keep their lengths.
   */
  settle(stream: StreamRef, latestMs: number, atMs: number): Promise<number | null>
  /** The feed of the source that ended last. */
  latest(source: StreamRef & { sourceId: string | null }): Promise<StoredFeed | undefined>
  /** Asks the nodes of a stream's feeds on the air to record them, or no longer. Lock them before. */
  switchRecording(stream: StreamRef, isOn: boolean): Promise<void>
  end(feedId: string, atMs: number): Promise<StoredFeed | undefined>
  /** Stores what the feeds' nodes measured, also of feeds that have just ended. */
  report(reports: readonly FeedReport[]): Promise<void>
  /** Stores the totals of other nodes than the feeds' own. */
  count(totals: readonly FeedBytes[]): Promise<void>
  /** Ends the feeds on the air of these sessions. */
  endOfSessions(ends: readonly { id: string; atMs: number }[]): Promise<EndedFeed[]>
  /** Ends all feeds of a node. No feed ends before it began. */
  endOfNode(node: string, atMs: number): Promise<EndedFeed[]>
}

export interface StreamNodeReads {
  /** By name of the stream; streams without viewers there are left out. */
  sum(query: ViewingQuery): Promise<ReadonlyMap<string, StreamViewing>>
  /** Viewers at other nodes of the streams that have a feed at this one; streams without are left out. */
  remoteViewers(node: string): Promise<(StreamRef & { readonly viewers: number })[]>
}

export interface StreamNodeTx {
  /** Replaces the rows of a node. Lock the node before, so that it is not deleted meanwhile. */
  put(node: string, streams: readonly (StreamRef & StreamViewing)[]): Promise<void>
  delete(node: string, streams: readonly StreamRef[]): Promise<void>
}

export interface ViewingTx {
  /** Saves an attempt to view. True at most once per `quietMs` and stream: emit an event for it. */
  attempt(stream: StreamRef, atMs: number, quietMs: number): Promise<boolean>
  /** A viewer begins. True for the first one after the stream had none. */
  begin(stream: StreamRef): Promise<boolean>
  /** Marks a stream as idle. True once, when the last viewer left before this time and none has come since. */
  desert(stream: StreamRef, beforeMs: number): Promise<boolean>
  /** Deletes older attempts. */
  prune(beforeMs: number): Promise<number>
}
