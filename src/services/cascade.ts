import type { Clock } from '../base/clock.ts'
import type { Fields, Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import {
  LINK_VERSION,
  linkAnswerText,
  linkKeyText,
  type LinkRequest,
  linkRequestText,
  parseLinkAnswer,
} from '../core/nodes/linkRequest.ts'
import type { LinkProblem, SharedStream } from '../core/nodes/nodeLinks.ts'
import type { BorrowedRoom, EngineLinks } from '../media/engine.ts'
import type { RemoteFeedRef, SessionRegistry } from '../media/sessionRegistry.ts'
import type { Stream } from '../store/store.ts'
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
/** A node that did not answer, or that cannot be reached by its media ports, is not tried again before this time. */
const UNREACHABLE_MS = 30_000
/** A stream that its node does not have is not asked for again before this time, however many viewers come. Shorter than a tick. */
const ABSENT_MS = 500
/** The same of one that comes by no link although its node does, such as one in a codec that no viewer takes. */
const EMPTY_MS = 5000
/** For so long it says why a stream did not come, if none of that node has come since. */
const PROBLEM_MS = 600_000
const NONCE_BYTES = 16

interface Borrowed {
  readonly stream: Stream
  /** As memory knew it last. It stays secured when nothing of it is on the air any more. */
  isSecured: boolean
  readonly sinceMs: number
  /** Whether its media is here. */
  readonly open: Promise<boolean>
  readonly share: Share
  end: () => void
}

interface Share {
  /** What the engine has of it; null: the other node has not answered yet. */
  room: BorrowedRoom | null
}

/** Why streams of a node do not come. */
interface Failure {
  readonly problem: LinkProblem
  readonly atMs: number
}

const WHY: Readonly<Record<LinkProblem, string>> = {
  media_port: 'its media port does not answer',
  no_answer: 'it does not answer',
  lends_nothing: 'it lends nothing',
  refused: 'it refuses the request of this one: do both have the same sealing key and version?',
}

/**
 * The streams that this node borrows from others for its viewers: one share for each node that has feeds of a stream, however many viewers
 * ask. A feed that moves to another node is followed while there are viewers.
 */
export class Cascade {
  readonly #options: CascadeOptions
  #parts: CascadeParts | null = null
  /** By stream, then by node. */
  readonly #borrowed = new Map<string, Map<string, Borrowed>>()
  /** By node. */
  readonly #failures = new Map<string, Failure>()
  /** Streams of one node that are not asked for before a time, monotonic milliseconds; see `streamAt`. */
  readonly #absentUntilMs = new Map<string, number>()
  /** The database was silent for too long, and not all sessions have been checked since: nothing secured comes from other nodes. */
  #isStale = false
  #isChecking = false

  constructor(options: CascadeOptions) {
    this.#options = options
  }

  start(parts: CascadeParts): void {
    this.#parts = parts
  }

  /** Whether this node takes streams from others at all. */
  get isOn(): boolean {
    return this.#parts !== null
  }

  /** Whether this node borrows the stream, or is asking for it. */
  has(stream: Stream): boolean {
    return this.#borrowed.has(roomOf(stream))
  }

  /** What this node has from others, stream by stream. */
  get streams(): readonly SharedStream[] {
    return [...this.#borrowed.values()].flatMap((nodes) =>
      [...nodes].flatMap(
        ([
          node,
          {
            share: { room },
          },
        ]) => (room === null ? [] : [{ node, direction: 'borrowed' as const, ...(room.figures() ?? NO_FIGURES) }]),
      ),
    )
  }

  /** Why streams of other nodes do not come, by node. */
  get problems(): ReadonlyMap<string, LinkProblem> {
    return new Map([...this.#failures].map(([node, { problem }]) => [node, problem]))
  }

  /** Brings a stream here from the node that has this feed of it. False: it does not come in time, or may not. Never rejects. */
  async take(stream: Stream, feed: RemoteFeedRef): Promise<boolean> {
    const borrowed = this.#borrowed.get(roomOf(stream))?.get(feed.node) ?? this.#borrow(stream, feed)
    if (borrowed === null) return false
    const leftMs = WAIT_MS - (this.#options.clock.monotonic() - borrowed.sinceMs)
    return leftMs <= 0 ? borrowed.open : Promise.race([borrowed.open, this.#after(leftMs)])
  }

  /**
   * Lets viewers follow their streams to other nodes. Call it when feeds of other nodes were read. @param streams those that may have
   * changed; null: all
   */
  follow(streams: readonly Stream[] | null): void {
    const { sessions } = this.#options
    if (this.#parts === null) return
    for (const stream of streams ?? sessions.streams.all()) this.#followOne(stream)
  }

  /** Call it every second. */
  tick(): void {
    if (this.#hearsStore() && this.#isStale && !this.#isChecking) void this.#check()
    for (const one of this.#all()) {
      const { accountId, streamName } = one.stream
      one.isSecured = this.#options.sessions.onAir(accountId, streamName)?.secured ?? one.isSecured
      if (this.#isStale && one.isSecured) one.end()
    }
    const nowMs = this.#options.clock.monotonic()
    for (const [node, { atMs }] of this.#failures) if (nowMs - atMs >= PROBLEM_MS) this.#failures.delete(node)
    for (const [name, untilMs] of this.#absentUntilMs) if (untilMs <= nowMs) this.#absentUntilMs.delete(name)
    if (this.#options.sessions.hasPeers) this.follow(null)
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
  #followOne({ accountId, streamName }: Stream): void {
    const { sessions } = this.#options
    if ((sessions.streams.of(accountId, streamName)?.whep ?? 0) === 0) return
    const isHere = sessions.feedsOf(accountId, streamName).length > 0
    const remote = sessions.remotesOf(accountId, streamName)
    if (!isHere && remote.length === 0) return
    if (!isHere && sessions.drain === null) for (const feed of remote) void this.take({ accountId, streamName }, feed)
    for (const [node, one] of this.#borrowed.get(roomOf({ accountId, streamName })) ?? [])
      if (!remote.some((feed) => feed.node === node)) one.end()
  }

  /** Whether it is too soon to ask a node for a stream again. */
  #isPaused(node: string, stream: Stream): boolean {
    const nowMs = this.#options.clock.monotonic()
    const failedAtMs = this.#failures.get(node)?.atMs ?? Number.NEGATIVE_INFINITY
    const absentUntilMs = this.#absentUntilMs.get(streamAt(node, stream)) ?? Number.NEGATIVE_INFINITY
    return nowMs - failedAtMs < UNREACHABLE_MS || nowMs < absentUntilMs
  }

  #borrow({ accountId, streamName }: Stream, feed: RemoteFeedRef): Borrowed | null {
    const stream = { accountId, streamName }
    this.#hearsStore()
    if (this.#parts === null || feed.url === null || this.#isPaused(feed.node, stream)) return null
    if (feed.secured && this.#isStale) return null
    const ending = new AbortController()
    const share: Share = { room: null }
    const open = this.#open(this.#parts, stream, { ...feed, url: feed.url }, share, ending)
    const sinceMs = this.#options.clock.monotonic()
    const borrowed = { stream, isSecured: feed.secured, sinceMs, open, share, end: () => ending.abort() }
    const room = roomOf(stream)
    const nodes = this.#borrowed.get(room) ?? new Map<string, Borrowed>()
    this.#borrowed.set(room, nodes.set(feed.node, borrowed))
    ending.signal.addEventListener('abort', () => {
      nodes.delete(feed.node)
      if (nodes.size === 0) this.#borrowed.delete(room)
    })
    return borrowed
  }

  /** Aborts `ending` when the share is over, and ends the share when that is aborted. */
  async #open(
    { links }: CascadeParts,
    stream: Stream,
    feed: RemoteFeedRef & { readonly url: string },
    borrowed: Share,
    ending: AbortController,
  ): Promise<boolean> {
    const { clock, log } = this.#options
    const beganAtMs = clock.monotonic()
    const about = { ...stream, node: feed.node, url: feed.url }
    const share = await this.#ask(stream, feed)
    if (share === null || ending.signal.aborted) {
      ending.abort()
      return false
    }
    const lent = links.borrow(share, share.addresses, () => ending.abort())
    borrowed.room = lent
    ending.signal.addEventListener('abort', () => lent.end())
    const isOpen = await Promise.race([lent.open, this.#after(WAIT_MS - (clock.monotonic() - beganAtMs))])
    if (isOpen) {
      this.#failures.delete(feed.node)
      log.info({ ...about, ms: Math.round(clock.monotonic() - beganAtMs) }, 'a stream comes from another node')
      return true
    }
    // A share that has ended, and a stream without media, say nothing of the other streams of the node.
    if (ending.signal.aborted) this.#pause(feed.node, stream, ABSENT_MS)
    else if (lent.isReached()) this.#pause(feed.node, stream, EMPTY_MS)
    else this.#fail(feed.node, about, 'media_port')
    ending.abort()
    return false
  }

  /** Null: the other node does not lend it. */
  async #ask(stream: Stream, { node, url }: RemoteFeedRef & { readonly url: string }) {
    const { clock, random, sessions, keys } = this.#options
    const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url')
    const request: LinkRequest = { from: sessions.node, to: node, ...stream, atMs: clock.now(), nonce }
    const [signing] = keys
    const code = signing.code(linkRequestText(request))
    const answered = await this.#parts?.ask(
      `${url.replace(/\/$/, '')}/api/links`,
      { version: LINK_VERSION, ...request, code },
      WAIT_MS,
    )
    const answer = answered?.status === 200 ? parseLinkAnswer(answered.body) : null
    if (answer !== null && signing.isOf(linkAnswerText(code, answer), answer.code)) {
      const key = signing.derive(linkKeyText(request, answer))
      return { room: roomOf(stream), key, ssrc: answer.ssrc, addresses: answer.addresses }
    }
    if (answered?.status === 404) this.#pause(node, stream, ABSENT_MS)
    else this.#fail(node, { ...stream, node, url, status: answered?.status }, problemOf(answered?.status))
    return null
  }

  #pause(node: string, stream: Stream, ms: number): void {
    this.#absentUntilMs.set(streamAt(node, stream), this.#options.clock.monotonic() + ms)
  }

  #fail(node: string, about: Fields, problem: LinkProblem): void {
    const { clock, log } = this.#options
    this.#failures.set(node, { problem, atMs: clock.monotonic() })
    log.warn(about, `no stream comes from this node, so its viewers are redirected: ${WHY[problem]}`)
  }

  async #after(ms: number): Promise<false> {
    await this.#options.clock.sleep(Math.max(0, ms))
    return false
  }
}

const roomOf = ({ accountId, streamName }: Stream): string => `${accountId}/${streamName}`

/** A stream as one node has it. */
const streamAt = (node: string, stream: Stream): string => `${node} ${roomOf(stream)}`

/** Of a node that lends nothing, by the status of its answer. 200: another one has signed it. */
function problemOf(status: number | undefined): LinkProblem {
  if (status === 503) return 'lends_nothing'
  return status === 200 || status === 400 || status === 401 ? 'refused' : 'no_answer'
}
