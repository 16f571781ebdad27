import { Batches } from '../base/batches.ts'
import type { FeedRendition, HlsCodecs } from '../core/hls/feedRungs.ts'
import type { FeedFacts } from '../core/sessions/types.ts'
import { type SourceRef, streamIdOf, type StreamRef } from '../core/streams/streamId.ts'
import type { FrameSource } from './frame.ts'
import { StaleStreams } from './staleStreams.ts'
import type { StreamDemand } from './streamDemand.ts'

export { StaleStreams, STREAMS_AT_ONCE } from './staleStreams.ts'

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
  extends Pick<FeedFacts, 'feedId' | 'accountId' | 'streamName' | 'sourceId' | 'secured' | 'tokenId' | 'regions'> {
  /** Of its publisher; null: the lowest. */
  readonly priority: number | null
  readonly node: string
  /** Where clients reach that node; null when it is not known. */
  readonly url: string | null
}

type FeedListener = (feed: ActiveFeed, what: 'started' | 'ended') => void

const NO_TOKENS: readonly number[] = []

/** The feeds on the air: those of this node, and those of others as far as memory knows. */
export class FeedsOnAir {
  /** Streams that have changed at other nodes, and are not read yet. */
  readonly stale = new StaleStreams()
  /** Reads of feeds of other nodes, one at a time, so that none overwrites a later one. */
  readonly reading = new Batches<'feeds'>(1)
  readonly #demand: StreamDemand
  /** By stream and source. */
  readonly #feeds = new Map<string, Map<string | null, ActiveFeed>>()
  readonly #listeners = new Set<FeedListener>()
  #remote = new Map<string, readonly RemoteFeedRef[]>()
  #knowsAll = true
  #hasPeers = false

  /** @param demand is told when a stream begins */
  constructor(demand: StreamDemand) {
    this.#demand = demand
  }

  /** All feeds on the air at this node. */
  all(): ActiveFeed[] {
    return [...this.#feeds.values()].flatMap((sources) => [...sources.values()])
  }

  /** The feeds of one stream at this node, the oldest first. */
  ofStream(accountId: string, streamName: string): ActiveFeed[] {
    return [...(this.#feeds.get(streamIdOf({ accountId, streamName }))?.values() ?? [])]
  }

  /** The feed of one source at this node, chosen by `chooseSource`. */
  get(accountId: string, streamName: string, sourceId: string | null): ActiveFeed | undefined {
    return chooseSource(this.ofStream(accountId, streamName), sourceId)
  }

  /** Puts a feed on the air. Replaces an older one of the same source. */
  add(feed: ActiveFeed): void {
    const key = streamIdOf(feed)
    const sources = this.#feeds.get(key) ?? new Map<string | null, ActiveFeed>()
    const replaced = sources.get(feed.sourceId)
    if (replaced) this.remove(replaced)
    sources.set(feed.sourceId, feed)
    this.#feeds.set(key, sources)
    this.#notify(feed, 'started')
    this.#demand.begun(key)
  }

  remove(feed: ActiveFeed): void {
    const key = streamIdOf(feed)
    const sources = this.#feeds.get(key)
    if (sources?.get(feed.sourceId)?.feedId !== feed.feedId) return
    sources.delete(feed.sourceId)
    if (sources.size === 0) this.#feeds.delete(key)
    this.#notify(feed, 'ended')
  }

  /** Calls `listener` when a feed of this node begins or ends; it must not throw. Returns the function that unsubscribes. */
  watch(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The stream, if it is on the air at any node. With several sources it is secured when one of them is. */
  onAir(accountId: string, streamName: string): { readonly secured: boolean } | undefined {
    const key = streamIdOf({ accountId, streamName })
    const [local, remote] = [this.#feeds.get(key), this.#remote.get(key)]
    if (local === undefined && remote === undefined) return undefined
    return { secured: [...(local?.values() ?? []), ...(remote ?? [])].some((feed) => feed.secured) }
  }

  /** The tokens of the feeds of one stream at all nodes, as far as memory knows. */
  tokensOnAir(accountId: string, streamName: string): readonly number[] {
    const key = streamIdOf({ accountId, streamName })
    const [local, remote] = [this.#feeds.get(key), this.#remote.get(key)]
    if (local === undefined && remote === undefined) return NO_TOKENS
    return [...new Set([...(local?.values() ?? []), ...(remote ?? [])].map(({ tokenId }) => tokenId))]
  }

  /** The streams that a token has on the air at any node, as far as memory knows, by `streamIdOf`. */
  streamsOf(tokenId: number): ReadonlySet<string> {
    const feeds = [this.all(), ...this.#remote.values()].flat().filter((feed) => feed.tokenId === tokenId)
    return new Set(feeds.map(streamIdOf))
  }

  /** The feed of one source at another node, chosen by `chooseSource`. */
  remote(accountId: string, streamName: string, sourceId: string | null): RemoteFeedRef | undefined {
    return chooseSource(this.remotesOf(accountId, streamName), sourceId)
  }

  /** The feeds of one stream at other nodes. */
  remotesOf(accountId: string, streamName: string): readonly RemoteFeedRef[] {
    return this.#remote.get(streamIdOf({ accountId, streamName })) ?? []
  }

  /** Whether a source is on the air at another node that players can be sent to, as far as memory knows. */
  isAway({ accountId, streamName, sourceId }: SourceRef): boolean {
    return this.remotesOf(accountId, streamName).some((feed) => feed.sourceId === sourceId && feed.url !== null)
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
    this.#remote = Map.groupBy(feeds, streamIdOf)
    this.#knowsAll = knowsAll
    this.#hasPeers ||= feeds.length > 0
    for (const key of this.#demand.awaited) if (this.#remote.has(key)) this.#demand.begun(key)
  }

  /** Replaces the feeds of these streams there. `most` streams fit in memory. */
  setRemoteOf(streams: readonly StreamRef[], feeds: readonly RemoteFeedRef[], most: number): void {
    const found = Map.groupBy(feeds, streamIdOf)
    for (const key of streams.map(streamIdOf)) {
      const those = found.get(key)
      if (those !== undefined) this.#demand.begun(key)
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
