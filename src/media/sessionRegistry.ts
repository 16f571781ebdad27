import { Batches } from '../base/batches.ts'
import { Rotation } from '../base/rotation.ts'
import { SetIndex } from '../base/setIndex.ts'
import type { AccessRequest } from '../core/access/types.ts'
import type { FeedRendition, HlsCodecs } from '../core/hls/feedRungs.ts'
import type { AskToMove, Drain } from '../core/nodes/drain.ts'
import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { SessionSlot } from '../core/sessions/slots.ts'
import type { SourceReading } from '../core/streams/source.ts'
import type { Bytes, FeedFacts, Session } from '../core/sessions/types.ts'
import type { FrameSource, TrackInfo } from './frame.ts'
import { SessionCounts } from './sessionCounts.ts'
import { StreamCounts } from './streamCounts.ts'
import { StreamDemand } from './streamDemand.ts'
import { StaleStreams, type StreamRef } from './staleStreams.ts'
import { UsageCounts } from './usageCounts.ts'

export type { Session } from '../core/sessions/types.ts'
export { StaleStreams, STREAMS_AT_ONCE } from './staleStreams.ts'
export type { HourlyCount } from './usageCounts.ts'

/** How the edge cuts one of its sessions. Resolves after its last media byte, or at once when the session is over. */
export type Cut = (session: Session, reason: SessionEndReason) => Promise<void>

/** A feed on the air at this node: a publisher whose media has begun. */
export interface ActiveFeed extends FeedFacts {
  /** The publisher asks to be recorded, or else its token does. */
  readonly record: boolean
  /** The publisher does not object to being sent on to the targets of its token. */
  readonly restream: boolean
  /** The token asks for thumbnails. */
  readonly thumbnails: boolean
  /** Renditions that the token asks for in HLS, beside what the publisher sends. */
  readonly renditions: readonly FeedRendition[]
  /** Which codecs the token asks for there. Default: `h264`. */
  readonly hlsCodecs?: HlsCodecs
  /** Its media, for HLS, recording and thumbnails. */
  readonly media: FrameSource
}

/** A feed on the air at another node. */
export interface RemoteFeedRef
  extends Pick<FeedFacts, 'feedId' | 'accountId' | 'streamName' | 'sourceId' | 'secured' | 'tokenId'> {
  /** Of its publisher; null: the lowest. */
  readonly priority: number | null
  readonly node: string
  /** Where clients reach that node; null when it is not known. */
  readonly url: string | null
}

/** What a publisher sends, as its protocol reports it. */
export interface PublishedMedia {
  tracks: readonly TrackInfo[]
  /** Video frames so far. */
  frames: number
  /** What was measured of it, as last reported. */
  source: SourceReading
  /** When the totals were last reported, monotonic milliseconds; null: not yet. */
  countedAtMs: number | null
}

/** Which of several publishers of one source is on the air; the others are spares. */
export interface PublisherStanding {
  /** Of its address, or else of its token; null: the lowest. */
  readonly priority: number | null
  /** Its media is late, so that every other publisher is better. */
  isStalled: boolean
  /** Since when late media is in time again, monotonic milliseconds; null: it is not. */
  inTimeSinceMs: number | null
  /** How late its media is, milliseconds. */
  readonly lateMs: (nowMs: number) => number
  /** The media engine reports that nothing comes. */
  isSilent: boolean
  /** Its media; null until it begins. */
  media: FrameSource | null
  /** Offers a feed of it to viewers of the media engine. Returns what takes it back. */
  readonly show: (feed: ActiveFeed) => () => void
  readonly askToMove?: AskToMove | undefined
  /** Takes its feed back from the media engine; null: it has none there. */
  hide: (() => void) | null
}

/** A publisher or viewer connected to this node. */
export interface ActiveSession {
  readonly session: Session
  readonly cut: Cut
  /** Released when the session is removed here, however it ended. */
  readonly slot: SessionSlot
  /** Whether the publisher asks to be recorded; null: its token says. */
  readonly record: boolean | null
  /** The publisher asks not to be sent on to the targets of its token. */
  readonly noRestream: boolean
  /** Publishers: the rank among those of its source. */
  readonly standing: PublisherStanding | null
  /** Who has the seats that it took: the session, over HLS its ticket. */
  readonly viewer: string
  /** The limits of viewers of which it took seats. */
  readonly holders: Set<string>
  /** The request that was admitted, to evaluate it again when the token changes. */
  readonly request: AccessRequest
  /** Its row is being written. */
  isEntering: boolean
  /** SHA-256 of the token's value at admission, in hex; null without a token. */
  tokenHash: string | null
  /** The versions of the token, and of what its account says for its tokens, that last allowed the session. */
  tokenVersion: number | null
  accountVersion: number | null
  /** When its token ends it, epoch milliseconds; null: never. Changed by `SessionRegistry.setEnd`. */
  endsAtMs: number | null
  bytes: Bytes
  /** The time of its admission, `session.startedAtMs`, in monotonic milliseconds. */
  readonly admittedAtMs: number
  /** When the last media came from a publisher, or went to a viewer, monotonic milliseconds; null before the first. */
  mediaAtMs: number | null
  readonly media: PublishedMedia | null
  /** Totals as last saved in the store. */
  written: Bytes
  /** Set once, when this node ends the session; all callers wait for the same end. */
  ending: Ending | null
}

interface Ending {
  readonly reason: SessionEndReason
  /** Its media has stopped, or the edge did not stop it in time. */
  readonly cut: Promise<void>
  /** Its end is written, or waits: with the late ends, or for the admission. */
  readonly done: Promise<void>
}

/** A session that is over, but whose end is not in the store yet. */
export interface ClosingSession {
  readonly entry: ActiveSession
  readonly reason: SessionEndReason
  readonly atMs: number
}

const NO_TOKENS: readonly number[] = []
/** The most ends in one transaction. The end of a publisher costs an event and more. */
const PUBLISHERS_AT_ONCE = 50
const VIEWERS_AT_ONCE = 500

/** Sessions and feeds of this node, and feeds of others, in memory as in the store. Each session has a slot, which bounds them. */
export class SessionRegistry {
  /** This node's id; empty while the process does not serve sessions. */
  node = ''
  /** When its lease was last renewed, by the monotonic clock; null: it has none yet. */
  leaseRenewedAtMs: number | null = null
  /** Set while this node drains: it takes no sessions. */
  drain: Drain | null = null
  /** Sessions that ended here and whose end is not in the store yet, by session id. */
  readonly leaving = new Map<string, ClosingSession>()
  /** Publishers whose media has begun, and that are not on the air. */
  readonly spares = new Set<ActiveSession>()
  /** Tokens that changed while the store was unavailable: their sessions still need an evaluation. */
  readonly unchecked = new Set<number>()
  /** When an attempt to view a stream that is off the air was last emitted, by `streamKey`; monotonic milliseconds. */
  readonly attempts = new Map<string, number>()
  readonly counts = new SessionCounts()
  /** Streams that begin when a viewer comes. */
  readonly demand = new StreamDemand()
  /** Viewers and bytes of each stream and account. */
  readonly streams = new StreamCounts()
  /** What bytes count for in the hourly sums. */
  readonly usage = new UsageCounts()
  /** Sessions other than publishers, in the order in which their totals are written. */
  readonly turns = new Rotation<ActiveSession>()
  /** Ends to save in the store, by action: the end of a feed does not wait for those of its viewers. */
  readonly ends = {
    publish: new Batches<ClosingSession>(PUBLISHERS_AT_ONCE),
    view: new Batches<ClosingSession>(VIEWERS_AT_ONCE),
  }
  /** Rounds that save totals and usage in the store, by the time between two of them. */
  readonly writing = new Batches<number>(1)
  readonly writingUsage = new Batches<number>(1)
  /** Reads of feeds of other nodes, one at a time, so that none overwrites a later one. */
  readonly readingFeeds = new Batches<'feeds'>(1)
  readonly staleStreams = new StaleStreams()
  readonly #entries = new Map<string, ActiveSession>()
  readonly #byToken = new SetIndex<number, ActiveSession>()
  /** Those with `endsAtMs`. */
  readonly #timed = new Set<ActiveSession>()
  /** None of them ends before: most looks pass over thousands of sessions by this alone. */
  #nextEndMs = Number.POSITIVE_INFINITY
  readonly #feeds = new Map<string, Map<string | null, ActiveFeed>>()
  readonly #listeners = new Set<(feed: ActiveFeed, what: 'started' | 'ended') => void>()
  readonly #writtenListeners = new Set<(streams: readonly StreamRef[]) => void>()
  #remote = new Map<string, readonly RemoteFeedRef[]>()
  #knowsAll = true
  #hasPeers = false

  get size(): number {
    return this.#entries.size
  }

  /** Is this session still active? An edge asks after it has attached media, because a cut may have come before. */
  has(sessionId: string): boolean {
    return this.#entries.has(sessionId)
  }

  get(sessionId: string): ActiveSession | undefined {
    return this.#entries.get(sessionId)
  }

  /** All sessions in the order of admission, as a copy. */
  all(): ActiveSession[] {
    return [...this.#entries.values()]
  }

  /** The session has media, and another publisher of its source is on the air. */
  isSpare(sessionId: string): boolean {
    const entry = this.#entries.get(sessionId)
    return entry !== undefined && this.spares.has(entry)
  }

  ofToken(tokenId: number): ActiveSession[] {
    return [...this.#byToken.get(tokenId)]
  }

  add(entry: ActiveSession): void {
    const { id, tokenId } = entry.session
    this.#entries.set(id, entry)
    this.streams.change(entry.session, 1)
    this.usage.change(entry.session, 1)
    if (entry.session.action !== 'publish') this.turns.add(entry)
    if (tokenId !== null) this.#byToken.add(tokenId, entry)
    this.setEnd(entry, entry.endsAtMs)
  }

  /** Moves the time at which the token of a session ends it. */
  setEnd(entry: ActiveSession, endsAtMs: number | null): void {
    entry.endsAtMs = endsAtMs
    // It may have ended while the token was read.
    if (endsAtMs === null || !this.has(entry.session.id)) {
      this.#timed.delete(entry)
      return
    }
    this.#timed.add(entry)
    this.#nextEndMs = Math.min(this.#nextEndMs, endsAtMs)
  }

  /** Sessions whose token ends them by now and that no other reason ends already. */
  due(nowMs: number): ActiveSession[] {
    if (nowMs < this.#nextEndMs) return []
    const due: ActiveSession[] = []
    this.#nextEndMs = Number.POSITIVE_INFINITY
    for (const entry of this.#timed) {
      const endsAtMs = entry.endsAtMs ?? Number.POSITIVE_INFINITY
      if (entry.ending !== null) continue
      this.#nextEndMs = Math.min(this.#nextEndMs, endsAtMs)
      if (endsAtMs <= nowMs) due.push(entry)
    }
    return due
  }

  /** Forgets a session and its feed, and releases its slot. */
  remove(sessionId: string): void {
    const entry = this.#entries.get(sessionId)
    if (!entry) return
    entry.slot.release()
    const { tokenId, accountId, streamName } = entry.session
    this.#entries.delete(sessionId)
    this.spares.delete(entry)
    entry.standing?.hide?.()
    this.#timed.delete(entry)
    this.streams.change(entry.session, -1)
    this.usage.change(entry.session, -1)
    this.turns.delete(entry)
    if (tokenId !== null) this.#byToken.remove(tokenId, entry)
    for (const feed of this.feedsOf(accountId, streamName)) if (feed.sessionId === sessionId) this.removeFeed(feed)
  }

  /** All feeds on the air at this node. */
  feeds(): ActiveFeed[] {
    return [...this.#feeds.values()].flatMap((sources) => [...sources.values()])
  }

  /** The feeds of one stream at this node, the oldest first. */
  feedsOf(accountId: string, streamName: string): ActiveFeed[] {
    return [...(this.#feeds.get(streamKey(accountId, streamName))?.values() ?? [])]
  }

  /** The feed of one source. For a null id: the feed without an id, or else the oldest. */
  feed(accountId: string, streamName: string, sourceId: string | null): ActiveFeed | undefined {
    const sources = this.#feeds.get(streamKey(accountId, streamName))
    const [oldest] = sources?.values() ?? []
    return sources?.get(sourceId) ?? (sourceId === null ? oldest : undefined)
  }

  /** Puts a feed on the air. Replaces an older one of the same source. */
  addFeed(feed: ActiveFeed): void {
    const key = streamKey(feed.accountId, feed.streamName)
    const sources = this.#feeds.get(key) ?? new Map<string | null, ActiveFeed>()
    const replaced = sources.get(feed.sourceId)
    if (replaced) this.removeFeed(replaced)
    sources.set(feed.sourceId, feed)
    this.#feeds.set(key, sources)
    this.#notify(feed, 'started')
    this.demand.begun(key)
  }

  removeFeed(feed: ActiveFeed): void {
    const key = streamKey(feed.accountId, feed.streamName)
    const sources = this.#feeds.get(key)
    if (sources?.get(feed.sourceId)?.feedId !== feed.feedId) return
    sources.delete(feed.sourceId)
    if (sources.size === 0) this.#feeds.delete(key)
    this.#notify(feed, 'ended')
  }

  /** Calls `listener` when a feed of this node begins or ends; it must not throw. Returns the function that unsubscribes. */
  watchFeeds(listener: (feed: ActiveFeed, what: 'started' | 'ended') => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls `listener` with the streams whose ends the store has now; it must not throw. Returns the function that unsubscribes. */
  watchWrittenEnds(listener: (streams: readonly StreamRef[]) => void): () => void {
    this.#writtenListeners.add(listener)
    return () => this.#writtenListeners.delete(listener)
  }

  /** The store has ends of publishers of this node. */
  endsAreWritten(streams: readonly StreamRef[]): void {
    for (const listener of this.#writtenListeners) listener(streams)
  }

  /** The stream, if it is on the air at any node. With several sources it is secured when one of them is. */
  onAir(accountId: string, streamName: string): { readonly secured: boolean } | undefined {
    const key = streamKey(accountId, streamName)
    const [local, remote] = [this.#feeds.get(key), this.#remote.get(key)]
    if (local === undefined && remote === undefined) return undefined
    return { secured: [...(local?.values() ?? []), ...(remote ?? [])].some((feed) => feed.secured) }
  }

  /** The tokens of the feeds of one stream at all nodes, as far as memory knows. */
  tokensOnAir(accountId: string, streamName: string): readonly number[] {
    const key = streamKey(accountId, streamName)
    const [local, remote] = [this.#feeds.get(key), this.#remote.get(key)]
    if (local === undefined && remote === undefined) return NO_TOKENS
    return [...new Set([...(local?.values() ?? []), ...(remote ?? [])].map(({ tokenId }) => tokenId))]
  }

  /** The streams that a token has on the air at any node, as far as memory knows, by `streamKey`. */
  streamsOf(tokenId: number): ReadonlySet<string> {
    const feeds = [this.feeds(), ...this.#remote.values()].flat().filter((feed) => feed.tokenId === tokenId)
    return new Set(feeds.map(({ accountId, streamName }) => streamKey(accountId, streamName)))
  }

  /** The feed of one source at another node, chosen as in `feed`. */
  remote(accountId: string, streamName: string, sourceId: string | null): RemoteFeedRef | undefined {
    return chooseSource(this.remotesOf(accountId, streamName), sourceId)
  }

  /** The feeds of one stream at other nodes. */
  remotesOf(accountId: string, streamName: string): readonly RemoteFeedRef[] {
    return this.#remote.get(streamKey(accountId, streamName)) ?? []
  }

  /** False: other nodes have more feeds than fit in memory, so a feed that is not found here may exist. */
  get knowsAll(): boolean {
    return this.#knowsAll
  }

  /** Other nodes have had feeds. */
  get hasPeers(): boolean {
    return this.#hasPeers
  }

  /** Replaces the list of feeds at other nodes. */
  setRemote(feeds: readonly RemoteFeedRef[], knowsAll: boolean): void {
    this.#remote = Map.groupBy(feeds, ({ accountId, streamName }) => streamKey(accountId, streamName))
    this.#knowsAll = knowsAll
    this.#hasPeers ||= feeds.length > 0
    for (const key of this.demand.awaited) if (this.#remote.has(key)) this.demand.begun(key)
  }

  /** Replaces the feeds of these streams there. `most` streams fit in memory. */
  setRemoteOf(streams: readonly StreamRef[], feeds: readonly RemoteFeedRef[], most: number): void {
    const found = Map.groupBy(feeds, ({ accountId, streamName }) => streamKey(accountId, streamName))
    for (const key of streams.map(({ accountId, streamName }) => streamKey(accountId, streamName))) {
      const those = found.get(key)
      if (those !== undefined) this.demand.begun(key)
      if (those === undefined) this.#remote.delete(key)
      else if (this.#remote.has(key) || this.#remote.size < most) this.#remote.set(key, those)
      else this.#knowsAll = false
    }
    this.#hasPeers ||= feeds.length > 0
  }

  #notify(feed: ActiveFeed, what: 'started' | 'ended'): void {
    for (const listener of this.#listeners) listener(feed, what)
  }
}

/** The feed of one source. For a null id: the feed without an id, or else the first. */
export const chooseSource = <F extends Pick<FeedFacts, 'sourceId'>>(feeds: readonly F[], sourceId: string | null) =>
  feeds.find((feed) => feed.sourceId === sourceId) ?? (sourceId === null ? feeds[0] : undefined)

/** `accountId/streamName`. */
export const streamKey = (accountId: string, streamName: string): string => `${accountId}/${streamName}`
