import { type Clock, inTime } from '../base/clock.ts'
import type { Fields, Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { mayGoTo } from '../core/clusters.ts'
import { atNode } from '../core/nodes/atNode.ts'
import {
  LINK_VERSION,
  linkAnswerText,
  linkKeyText,
  type LinkReferral,
  linkReferralText,
  type LinkRequest,
  linkRequestText,
  parseLinkAnswer,
  parseLinkReferral,
} from '../core/nodes/linkRequest.ts'
import type { LinkProblem, SharedStream } from '../core/nodes/nodeLinks.ts'
import { streamIdOf, type StreamRef } from '../core/streams/streamId.ts'
import type { BorrowedRoom, EngineLinks, LentRoom, RoomShare } from '../media/engine.ts'
import type { RemoteFeedRef } from '../media/feedsOnAir.ts'
import type { SessionRegistry } from '../media/sessionRegistry.ts'
import { LinkPauses } from './linkPauses.ts'
import { NO_FIGURES } from './lentRooms.ts'

/** Signs what this node sends to others, and derives keys that it shares with one of them. */
export interface NodeKey {
  code(text: string): string
  isOf(text: string, code: string): boolean
  /** 32 bytes for one use. */
  derive(use: string): Uint8Array
}

export interface CascadeOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly sessions: SessionRegistry
  /** Of this node; empty: none. */
  readonly region: string
  /** The first one signs. */
  readonly keys: readonly [NodeKey, ...NodeKey[]]
  /** How long ago the database was heard, milliseconds. */
  readonly silentMs: () => number
  /** After this time without the database, secured streams of other nodes are not forwarded. */
  readonly forwardStaleMs: () => number
}

/** What a node that serves has. */
export interface CascadeParts {
  readonly links: EngineLinks
  /** Checks all sessions by what the database says now. False: not all could be checked. Never rejects. */
  readonly recheck: () => Promise<boolean>
  /** Sends a request to another node within `ms`. Null: no answer, or none of JSON. Never rejects. */
  readonly ask: (url: string, body: object, ms: number) => Promise<{ status: number; body: unknown } | null>
}

/** How long a viewer waits for a link. Then it is redirected. */
const WAIT_MS = 2000
/** A stream that its node does not have is not asked for again before this time, however many viewers come. Shorter than a tick. */
const ABSENT_MS = 500
/** The same for a stream without media at a node that can be reached, such as one in a codec that no viewer takes. */
const EMPTY_MS = 5000
/** How long a node of the own region may take. Then the node of the feed lends the stream itself. */
const PARENT_MS = 1000
/** How long a node of the own region waits to learn whether this one may lend a stream on. */
const GRANT_MS = 300
const NONCE_BYTES = 16

interface Borrowed {
  readonly stream: StreamRef
  /** As memory had it last. It stays secured when nothing of it is on the air any more. */
  isSecured: boolean
  /** Monotonic milliseconds. */
  readonly sinceMs: number
  /** Whether its media is here. */
  readonly open: Promise<boolean>
  readonly share: Share
  /** The room, if the node of the feed lends it itself: then it can be lent on. Null: another node does, or none. */
  readonly direct: Promise<BorrowedRoom | null>
  end: () => void
}

interface Share {
  /** What the engine has of it; null: no node has answered yet. */
  room: BorrowedRoom | null
  /** The node that lends it. */
  from: string
}

/** A node that may lend a stream. */
type Lender = LinkReferral

/** The feeds of a stream at one node. */
interface SharedFeed extends StreamRef, Lender {
  /** Viewers need tokens for one of them. */
  readonly isSecured: boolean
}

/** A share that begins. */
interface Opening extends Pick<Borrowed, 'share' | 'sinceMs'> {
  readonly links: EngineLinks
  /** The stream, and the node of its feed. */
  readonly feed: SharedFeed
  /** Aborted when the share is over, and to end it. */
  readonly ending: AbortController
  /** See `Borrowed.direct`. */
  readonly granted: (direct: BorrowedRoom | null) => void
}

/** What a node lends, and where its engine listens. */
interface Offered {
  readonly share: RoomShare
  readonly addresses: Parameters<EngineLinks['borrow']>[1]
}

const WHY: Readonly<Record<LinkProblem, string>> = {
  media_port: 'its media port does not answer',
  no_answer: 'it does not answer',
  busy: 'it gets too many requests',
  lends_nothing: 'it lends nothing',
  refused: 'it refuses the request of this one: do both have the same sealing key and version?',
}

/**
 * The streams that this node borrows from others for its viewers: one share for each node that has feeds of a stream, however many viewers
 * ask. A feed that moves to another node is followed while there are viewers. The node of the feed may name one of this region that has the
 * stream: it then comes from there, and from the node of the feed again when that one ends it or does not answer.
 */
export class Cascade {
  readonly #options: CascadeOptions
  #parts: CascadeParts | null = null
  /** By stream, then by node. */
  readonly #borrowed = new Map<string, Map<string, Borrowed>>()
  readonly #pauses: LinkPauses
  /** The database was silent for too long, and not all sessions have been checked since: nothing secured comes from other nodes. */
  #isStale = false
  #isChecking = false

  constructor(options: CascadeOptions) {
    this.#options = options
    this.#pauses = new LinkPauses(options.clock)
  }

  start(parts: CascadeParts): void {
    this.#parts = parts
  }

  /**
   * Gives back what this node has from others, and takes no more: nothing looks any more at how long the database is silent, and a node
   * that stops waits for it.
   */
  stop(): void {
    this.#parts = null
    for (const one of this.#all()) one.end()
  }

  /** Whether this node takes streams from others at all. */
  get isOn(): boolean {
    return this.#parts !== null
  }

  /** Whether this node borrows the stream, or is asking for it. */
  has(stream: StreamRef): boolean {
    return this.#borrowed.has(streamIdOf(stream))
  }

  /** What this node has from others, stream by stream. */
  get streams(): readonly SharedStream[] {
    return [...this.#all()].flatMap(({ share: { room, from } }) =>
      room === null ? [] : [{ node: from, direction: 'borrowed' as const, ...(room.figures() ?? NO_FIGURES) }],
    )
  }

  /** Why streams of other nodes do not come, by node. */
  get problems(): ReadonlyMap<string, LinkProblem> {
    return this.#pauses.problems
  }

  /** Brings a stream here from the node that has this feed of it. False: it does not come in time, or may not. Never rejects. */
  async take(stream: StreamRef, feed: RemoteFeedRef): Promise<boolean> {
    const borrowed = this.#borrowed.get(streamIdOf(stream))?.get(feed.node) ?? this.#borrow(stream, feed)
    if (borrowed === null) return false
    const leftMs = this.#leftMs(borrowed)
    return leftMs <= 0 ? borrowed.open : this.#isTrueIn(leftMs, borrowed.open)
  }

  /**
   * Lets viewers follow their streams to other nodes. Call it when feeds of other nodes were read. @param streams those that may have
   * changed; null: all
   */
  follow(streams: readonly StreamRef[] | null): void {
    const { sessions } = this.#options
    if (this.#parts === null) return
    for (const stream of streams ?? sessions.streams.all()) this.#followOne(stream)
  }

  /** Lends on what comes from the node of the feed itself. Null: nothing does. `ended`: called once. */
  async lendOn(stream: StreamRef, feedAt: string, share: RoomShare, ended: () => void): Promise<LentRoom | null> {
    const direct = this.#borrowed.get(streamIdOf(stream))?.get(feedAt)?.direct
    if (direct === undefined || this.#options.sessions.drain !== null) return null
    const room = await inTime(this.#options.clock, GRANT_MS, direct)
    return room === null ? null : room.lend(share, ended)
  }

  /** Call it every second. */
  tick(): void {
    if (this.#hearsStore() && this.#isStale && !this.#isChecking) void this.#check()
    for (const one of this.#all()) {
      const { accountId, streamName } = one.stream
      one.isSecured = this.#options.sessions.feeds.onAir(accountId, streamName)?.secured ?? one.isSecured
      if (this.#isStale && one.isSecured) one.end()
    }
    this.#pauses.tick()
    if (this.#options.sessions.feeds.hasPeers) this.follow(null)
  }

  /** False: the database is silent for too long. */
  #hearsStore(): boolean {
    const { silentMs, forwardStaleMs } = this.#options
    const isHeard = silentMs() <= forwardStaleMs()
    this.#isStale ||= !isHeard
    return isHeard
  }

  /** The token of a viewer who waits may have been deleted meanwhile. */
  async #check(): Promise<void> {
    this.#isChecking = true
    const isChecked = await this.#parts?.recheck()
    this.#isChecking = false
    if (isChecked !== true) return
    this.#isStale = false
    this.follow(null)
  }

  *#all(): Generator<Borrowed> {
    for (const nodes of this.#borrowed.values()) yield* nodes.values()
  }

  /** Takes what its viewers lack, and gives back what goes on elsewhere. Where nothing is on the air, they wait. */
  #followOne({ accountId, streamName }: StreamRef): void {
    const { sessions } = this.#options
    if ((sessions.streams.of(accountId, streamName)?.whep ?? 0) === 0) return
    const isHere = sessions.feeds.ofStream(accountId, streamName).length > 0
    const remote = sessions.feeds.remotesOf(accountId, streamName)
    if (!isHere && remote.length === 0) return
    if (!isHere && sessions.drain === null) for (const feed of remote) void this.take({ accountId, streamName }, feed)
    for (const [node, one] of this.#borrowed.get(streamIdOf({ accountId, streamName })) ?? []) {
      const together = remote.filter((feed) => feed.node === node)
      if (together.length === 0 || !mayGoTo(this.#options.region, together)) one.end()
    }
  }

  #borrow({ accountId, streamName }: StreamRef, feed: RemoteFeedRef): Borrowed | null {
    const stream = { accountId, streamName }
    const { sessions } = this.#options
    this.#hearsStore()
    if (this.#parts === null || feed.url === null || this.#pauses.has(feed.node, stream)) return null
    const others = sessions.feeds.remotesOf(accountId, streamName).filter(({ node }) => node === feed.node)
    const isSecured = [feed, ...others].some(({ secured }) => secured)
    if (isSecured && this.#isStale) return null
    if (!mayGoTo(this.#options.region, [feed, ...others])) return null
    const ending = new AbortController()
    const share: Share = { room: null, from: feed.node }
    const { promise: direct, resolve: granted } = Promise.withResolvers<BorrowedRoom | null>()
    const sinceMs = this.#options.clock.monotonic()
    const about = { ...stream, node: feed.node, url: feed.url, isSecured }
    const { links } = this.#parts
    const open = this.#open({ links, feed: about, share, ending, granted, sinceMs })
    const borrowed = { stream, isSecured, sinceMs, open, share, direct, end: () => ending.abort() }
    const room = streamIdOf(stream)
    const nodes = this.#borrowed.get(room) ?? new Map<string, Borrowed>()
    this.#borrowed.set(room, nodes.set(feed.node, borrowed))
    ending.signal.addEventListener('abort', () => {
      nodes.delete(feed.node)
      if (nodes.size === 0) this.#borrowed.delete(room)
    })
    return borrowed
  }

  /** Aborts `ending` when the share is over, and ends the share when that is aborted. */
  async #open(opening: Opening): Promise<boolean> {
    const { clock, log } = this.#options
    const { feed, ending, granted, sinceMs } = opening
    const from = await this.#openFrom(opening)
    granted(null)
    if (from === null) {
      ending.abort()
      return false
    }
    this.#pauses.succeed(from.node)
    const ms = Math.round(clock.monotonic() - sinceMs)
    log.info({ ...feed, from: from.url, ms }, 'a stream comes from another node')
    return true
  }

  /** The node that lends the stream: one of this region that the node of the feed names, or that node itself. Null: none in time. */
  async #openFrom(opening: Opening): Promise<Lender | null> {
    const { feed, ending } = opening
    const first = await this.#ask(feed, feed, this.#leftMs(opening))
    if (first === null) return null
    if ('share' in first) return this.#enter(opening, feed, first)
    const offered = this.#pauses.has(first.node, feed) ? null : await this.#ask(feed, first, PARENT_MS)
    const parent = offered !== null && 'share' in offered ? await this.#enter(opening, first, offered) : null
    if (parent !== null || ending.signal.aborted) return parent
    const direct = await this.#ask(feed, feed, this.#leftMs(opening), true)
    return direct !== null && 'share' in direct ? this.#enter(opening, feed, direct) : null
  }

  /** Waits for the media of what a node offers. Null: it does not come in time, or the share was ended meanwhile. */
  async #enter(opening: Opening, lender: Lender, { share, addresses }: Offered): Promise<Lender | null> {
    const { links, feed, ending, granted } = opening
    if (ending.signal.aborted) return null
    let [isOpen, isOver] = [false, false]
    const room = links.borrow({ ...share, isReplaceable: lender !== feed }, addresses, () => {
      isOver = true
      // When a node of the region ends it before it has begun, the one of the feed is asked next.
      if (ending.signal.aborted || (!isOpen && lender !== feed)) return
      ending.abort()
      if (lender !== feed) this.#leave(lender, feed)
    })
    opening.share.room = room
    opening.share.from = lender.node
    const end = (): void => room.end()
    ending.signal.addEventListener('abort', end)
    if (lender === feed) granted(room)
    const waitMs = lender === feed ? this.#leftMs(opening) : PARENT_MS
    isOpen = await this.#isTrueIn(waitMs, room.open)
    if (isOpen && !isOver) return lender
    ending.signal.removeEventListener('abort', end)
    // A share that has ended, and a stream without media, say nothing of the other streams of the node.
    if (isOver || ending.signal.aborted) this.#pauses.add(lender.node, feed, ABSENT_MS)
    else if (room.isReached()) this.#pauses.add(lender.node, feed, EMPTY_MS)
    else this.#fail(lender, { ...feed }, 'media_port')
    room.end()
    return null
  }

  /** A node of the region has ended a stream, or has fallen silent. The one of the feed is asked at once, and lends it itself. */
  #leave(parent: Lender, feed: SharedFeed): void {
    this.#pauses.add(parent.node, feed, ABSENT_MS)
    this.#followOne(feed)
  }

  /** How long its viewers still wait. */
  #leftMs({ sinceMs }: Pick<Borrowed, 'sinceMs'>): number {
    return WAIT_MS - (this.#options.clock.monotonic() - sinceMs)
  }

  /** What a node offers, or the one that it names. Null: it does not lend the stream. */
  async #ask(feed: SharedFeed, lender: Lender, ms: number, isDirect = false): Promise<Offered | Lender | null> {
    const { clock, random, sessions, keys } = this.#options
    const { accountId, streamName, node: feedAt, isSecured } = feed
    const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url')
    const about = { accountId, streamName, feedAt, isDirect, isSecured }
    const request: LinkRequest = { from: sessions.node, to: lender.node, ...about, atMs: clock.now(), nonce }
    const code = keys[0].code(linkRequestText(request))
    const url = atNode(lender.url, '/api/links')
    const answered = await this.#parts?.ask(url, { version: LINK_VERSION, ...request, code }, ms)
    const offered = answered?.status === 200 ? this.#read(request, code, answered.body) : null
    if (offered !== null) return offered
    // The other node may have the stream, or know the lease of this one, a moment later.
    if (answered?.status === 404 || answered?.status === 409) this.#pauses.add(lender.node, feed, ABSENT_MS)
    else this.#fail(lender, { ...feed, status: answered?.status }, problemOf(answered?.status))
    return null
  }

  /** Null: the node that was asked has not signed it. */
  #read(request: LinkRequest, code: string, body: unknown): Offered | Lender | null {
    const [signing] = this.#options.keys
    const referral = request.isDirect ? null : parseLinkReferral(body)
    if (referral !== null) {
      const named = { node: referral.node, url: referral.url }
      return signing.isOf(linkReferralText(code, named), referral.code) ? named : null
    }
    const answer = parseLinkAnswer(body)
    if (answer === null || !signing.isOf(linkAnswerText(code, answer), answer.code)) return null
    const key = signing.derive(linkKeyText(request, answer))
    return { share: { room: streamIdOf(request), key, ssrc: answer.ssrc }, addresses: answer.addresses }
  }

  #fail({ node, url }: Lender, about: Fields, problem: LinkProblem): void {
    this.#pauses.fail(node, problem)
    this.#options.log.warn(
      { ...about, node, url },
      `no stream comes from this node, so its viewers are redirected: ${WHY[problem]}`,
    )
  }

  /** False: it is not, or not in time. */
  async #isTrueIn(ms: number, answer: Promise<boolean>): Promise<boolean> {
    return (await inTime(this.#options.clock, Math.max(0, ms), answer)) ?? false
  }
}

/** Of a node that lends nothing, by the status of its answer. 200: another one has signed it. */
function problemOf(status: number | undefined): LinkProblem {
  if (status === 503) return 'lends_nothing'
  if (status === 429) return 'busy'
  return status === 200 || status === 400 || status === 401 ? 'refused' : 'no_answer'
}
