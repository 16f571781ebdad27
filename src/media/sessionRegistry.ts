import { Batches } from '../base/batches.ts'
import { LateLooks } from '../base/lateLooks.ts'
import { Rotation } from '../base/rotation.ts'
import { SetIndex } from '../base/setIndex.ts'
import type { AccessRequest } from '../core/access/types.ts'
import type { AskToMove, Drain } from '../core/nodes/drain.ts'
import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { SessionSlot } from '../core/sessions/slots.ts'
import type { SourceReading } from '../core/streams/source.ts'
import type { Bytes, Session } from '../core/sessions/types.ts'
import type { StreamRef } from '../core/streams/streamId.ts'
import { type ActiveFeed, FeedsOnAir } from './feedsOnAir.ts'
import type { FrameSource, TrackInfo } from './frame.ts'
import { SessionCounts } from './sessionCounts.ts'
import { StreamCounts } from './streamCounts.ts'
import { StreamDemand } from './streamDemand.ts'
import { UsageCounts } from './usageCounts.ts'

export type { HourlyCount } from './usageCounts.ts'

/** How the edge cuts one of its sessions. Resolves after its last media byte, or at once when the session is over. */
export type Cut = (session: Session, reason: SessionEndReason) => Promise<void>

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
  /** Whether it was asked to move. If it then closes its connection, it is on its way to another node. */
  isAskedToMove: boolean
  /** Why its media has ended, where the protocol says so before the session ends. Null: it said no goodbye. */
  mediaEnd: SessionEndReason | null
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

/** Those who have the media of a publisher that is gone learn of its end when another one follows, or none does in time. */
export interface HeldEnd {
  readonly of: ActiveSession
  /** A spare takes over, so that a goodbye that comes late ends nothing. */
  readonly hasSpare: boolean
  readonly end: () => void
}

/** A session that is over, but whose end is not in the store yet. */
export interface ClosingSession {
  readonly entry: ActiveSession
  readonly reason: SessionEndReason
  readonly atMs: number
}

/** From one look at publishers to the next. A spare takes over within a second of the last picture. */
export const LOOK_MS = 100
/** After a look that is late by more, all media seems late. */
const LATE_LOOK_MS = 200
/** The most ends in one transaction. The end of a publisher costs an event and more. */
const PUBLISHERS_AT_ONCE = 50
const VIEWERS_AT_ONCE = 500

/** The sessions of this node, in memory as in the store, with the feeds on the air. Each session has a slot, which bounds them. */
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
  /** Looks at publishers, every `LOOK_MS`. */
  readonly looks: LateLooks
  /** Ends of feeds that wait for the next publisher of their source. */
  readonly heldEnds = new Set<HeldEnd>()
  /** Tokens that changed while the store was unavailable: their sessions still need an evaluation. */
  readonly unchecked = new Set<number>()
  /** When an attempt to view a stream that is off the air was last emitted, by `streamIdOf`; monotonic milliseconds. */
  readonly attempts = new Map<string, number>()
  readonly counts = new SessionCounts()
  /** Streams that begin when a viewer comes. */
  readonly demand = new StreamDemand()
  readonly feeds = new FeedsOnAir(this.demand)
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
  readonly #entries = new Map<string, ActiveSession>()
  readonly #byToken = new SetIndex<number, ActiveSession>()
  /** Those with `endsAtMs`. */
  readonly #timed = new Set<ActiveSession>()
  /** None of them ends before: most looks pass over thousands of sessions by this alone. */
  #nextEndMs = Number.POSITIVE_INFINITY
  readonly #writtenListeners = new Set<(streams: readonly StreamRef[]) => void>()

  /** @param nowMs monotonic */
  constructor(nowMs = 0) {
    this.looks = new LateLooks(LOOK_MS, nowMs, LATE_LOOK_MS)
  }

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
    const feed = this.feeds.ofStream(accountId, streamName).find((one) => one.sessionId === sessionId)
    if (feed) this.feeds.remove(feed)
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
}
