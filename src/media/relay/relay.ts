import { LateLooks } from '../../base/lateLooks.ts'
import { eachWalled } from '../../base/walls.ts'
import type {
  EndReason,
  LayersAnswer,
  MediaEngine,
  MediaEngineEvent,
  Negotiated,
  Patched,
  PublishOffer,
  RoomFeedback,
  ViewOffer,
} from '../engine.ts'
import type { FrameSink, TrackInfo } from '../frame.ts'
import type { Fanout } from './forward/fanout.ts'
import { fanoutsOf } from './forward/fanoutNative.ts'
import { Feeds } from './forward/feeds.ts'
import { FrameFeed } from './forward/frameFeed.ts'
import type { Source } from './forward/source.ts'
import { tap } from './forward/tap.ts'
import { Publisher } from './inbound/publisher.ts'
import type { LinkMessage } from './link/linkOffer.ts'
import { Links, type LinksOptions, type PeerFigures } from './link/links.ts'
import { type NodeShare, NodeShares, type NodeSharesOptions } from './link/nodeShares.ts'
import { gainOf, negotiatePublish, negotiateView, viewAnswers } from './negotiation.ts'
import { FeedbackTallies } from './outbound/feedbackTally.ts'
import { newDownTrack, newRtpNumbers } from './outbound/newDownTrack.ts'
import { Viewer } from './outbound/viewer.ts'
import { FULL, NO_SESSION, NO_VIEWER } from './refusals.ts'
import { RelaySession, type RelaySessionOptions } from './relaySession.ts'
import { Rooms } from './rooms.ts'
import { Lateness, type Waits } from './transport/lateness.ts'
import type { Endpoint } from './transport/socket.ts'
import { WebRtcServer, type WebRtcServerOptions } from './transport/webRtcServer.ts'
import type { TransportEvents } from './transport/transportEvents.ts'
import { buildAnswer } from './wire/sdp/answer.ts'

export interface RelayOptions extends WebRtcServerOptions {
  /** Bits per second that each publisher may send. */
  readonly maxBitrate: number
  readonly maxSessions: number
  /** A publisher that is silent for this long is gone. */
  readonly publisherSilentMs: number
  readonly emit: (event: MediaEngineEvent) => void
  /** A fault of ours, which has ended one session, feed or link and no other. If this throws, so does the call that met it. */
  readonly fault: (error: unknown) => void
  /** Frames of a feed are needed from now on, or no longer. */
  want(sessionId: string, isWanted: boolean): void
  /** How rooms are shared with other processes and nodes; null or absent: they are not. */
  readonly links?: (Omit<LinksOptions, 'random' | 'fault'> & { readonly tell?: NodeSharesOptions['tell'] }) | null
}

export type FeedRequest = Omit<Parameters<MediaEngine['feed']>[0], 'source'>

/** How often to call `tick`. */
export const TICK_MS = 20

const SLOW_TICK_MS = 200
const BYTES_MS = 1000

/** The relay of one process: its sessions, their rooms, and the feeds that come as frames. */
export class Relay {
  readonly #options: RelayOptions
  readonly #server: WebRtcServer
  readonly #sessions = new Map<string, RelaySession>()
  readonly #rooms = new Rooms()
  readonly #feeds: Feeds
  readonly #createFanout: () => Fanout
  readonly #links: Links | null
  readonly #nodeShares: NodeShares | null
  #slowAtMs = 0
  #bytesAtMs = 0
  readonly #looks: LateLooks
  readonly #lateness = new Lateness()
  readonly #feedback = new FeedbackTallies()
  /** Of the datagram that is being handled. */
  #isLate = false

  constructor(options: RelayOptions) {
    this.#options = options
    this.#looks = new LateLooks(SLOW_TICK_MS, options.now())
    this.#server = new WebRtcServer(options)
    this.#createFanout = fanoutsOf(options.native?.addon ?? null)
    this.#feeds = new Feeds((sessionId, isWanted) => options.want(sessionId, isWanted))
    const { links = null, random, native = null, now, fault } = options
    this.#links = links && new Links({ ...links, random, fault }, this.#rooms, this.#createFanout)
    const send = (datagram: Uint8Array, to: Endpoint): void => options.send(datagram, to)
    const tell = links?.tell ?? (() => undefined)
    const heard = (peer: number, message: LinkMessage): void => this.heard(peer, message)
    this.#nodeShares = this.#links && new NodeShares({ native, send, now, tell, heard, fault }, this.#links)
  }

  publish(request: PublishOffer): Negotiated {
    const { sessionId, room, sourceId, offer: text, codec, without = null, priority = null } = request
    const agreed = negotiatePublish(text, codec, without)
    if (!agreed.ok) return agreed.error
    if (this.#isFull) return FULL
    const { offer, lines, answers } = agreed.value
    const { maxBitrate, now, emit } = this.#options
    const transport = this.#server.open(offer, now())
    const tracks = (all: readonly TrackInfo[]): void => emit({ kind: 'tracks', sessionId, tracks: all })
    const publisher = new Publisher(
      { sessionId, sourceId, priority, transport, lines, createFanout: this.#createFanout, maxBitrate, tracks },
      now(),
    )
    return this.#begin(
      { id: sessionId, room, transport, role: { publisher }, offer, answers },
      {
        connected: () => {
          publisher.start()
          this.#replaceSource(room, publisher.source)
        },
        rtp: (packet, index, atMs) => {
          if (this.#isLate) this.#lateness.dropped()
          publisher.rtp(packet, index, atMs, this.#isLate)
        },
        rtcp: (packets, atMs) => publisher.rtcp(packets, atMs),
      },
    )
  }

  view({ sessionId, room, sourceId, offer: text }: ViewOffer): Negotiated {
    const agreed = negotiateView(text, this.#rooms.at(room)?.formsOf(sourceId) ?? [])
    if (!agreed.ok) return agreed.error
    if (this.#isFull) return FULL
    const { offer, plan } = agreed.value
    const { random, now } = this.#options
    const transport = this.#server.open(offer, now())
    const byLine = plan.map((chosen) => chosen && newDownTrack(chosen, newRtpNumbers(random), transport))
    const downTracks = byLine.filter((downTrack) => downTrack !== null)
    const feedback = () => this.#feedback.of(room)
    const viewer = new Viewer({ transport, downTracks, cname: sessionId, gains: gainOf(agreed.value), feedback })
    const answers = viewAnswers(agreed.value, byLine, sessionId)
    const begun = this.#begin(
      { id: sessionId, room, transport, role: { viewer }, offer, answers },
      {
        connected: () => viewer.start(now()),
        rtp: null,
        rtcp: (packets, atMs) => viewer.rtcp(packets, atMs),
      },
    )
    this.#rooms.open(room).join(sessionId, viewer, sourceId, now())
    // At once: a feed that is slow to start can use the time in which the viewer connects.
    this.#reconcileFeeds()
    this.#links?.reconcile(now())
    return begun
  }

  /** The peer of a session gets its answer now: the time in which it must connect begins. */
  answered(sessionId: string): void {
    this.#sessions.get(sessionId)?.answered(this.#options.now())
  }

  /** See `RelaySession.patch`. */
  patch(sessionId: string, text: string, mayRestart: boolean): Patched {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return NO_SESSION
    const { now } = this.#options
    return session.patch(text, mayRestart, (remote) => this.#server.restart(session.transport, remote, now()))
  }

  /** See `MediaEngine.layers`. */
  layers(sessionId: string, choice?: string | null): LayersAnswer {
    const viewer = this.#sessions.get(sessionId)?.viewer ?? null
    return viewer === null ? NO_VIEWER : viewer.layers(choice, this.#options.now())
  }

  /** Ends a session or a feed. It sends and receives nothing after this. */
  end(sessionId: string, reason: EndReason = 'kicked'): void {
    this.#endSession(sessionId, reason)
    this.#endFeed(sessionId, reason)
  }

  /** Ends sessions of this process. None of them gets media any more before the first goodbye is sent: those take longer. */
  endTogether(sessionIds: readonly string[]): void {
    for (const sessionId of sessionIds) this.#sessions.get(sessionId)?.viewer?.show(null, this.#options.now())
    for (const sessionId of sessionIds) this.end(sessionId)
  }

  /** Adds a source whose frames come from another protocol. `end` of the returned sink ends it. */
  feed({ sessionId, room, sourceId, priority = null, preferredTo = null }: FeedRequest): FrameFeed {
    const { now, emit } = this.#options
    const ready = (source: Source, tracks: readonly TrackInfo[]): void => {
      emit({ kind: 'tracks', sessionId, tracks })
      if (preferredTo === null) this.#replaceSource(room, source)
      else this.#rooms.open(room).prefer(source, preferredTo, now())
      this.#links?.refresh(room, now())
      this.#reconcileFeeds()
    }
    const ended = (): void => this.#endFeed(sessionId, 'left')
    const feed = new FrameFeed({ sessionId, sourceId, priority, createFanout: this.#createFanout, ready, ended, now })
    this.#feeds.add(sessionId, room, feed)
    emit({ kind: 'connected', sessionId, address: '' })
    return feed
  }

  /** See `MediaEngine.setAside`. */
  setAside(sessionId: string, isAside: boolean): void {
    const room = this.#sessions.get(sessionId)?.room
    if (room === undefined) return
    this.#rooms.at(room)?.setAside(sessionId, isAside, this.#options.now())
    this.#links?.setAside(room, sessionId, isAside)
  }

  /** A process has viewers of this room from now on, or no longer; see `Links`. */
  share(room: string, to: { readonly process: number; readonly port: number } | { readonly endedOf: number }): void {
    const nowMs = this.#options.now()
    if ('endedOf' in to) this.#links?.unshare(room, to.endedOf, nowMs)
    else this.#links?.share(room, to.process, to.port, nowMs)
  }

  /** The other end of a link says something. */
  heard(process: number, message: LinkMessage): void {
    this.#links?.heard(process, message, this.#options.now())
    this.#reconcileFeeds()
  }

  /** A process that had links with this one has ended. */
  gone(process: number): void {
    this.#links?.gone(process, this.#options.now())
  }

  /** Shares a room with a relay at another node. Null: that cannot be. Else where this relay listens. */
  shareWithNode(share: NodeShare): NodeShare['addresses'] {
    if (this.#nodeShares?.add(share, this.#options.now()) !== true) return null
    return this.#options.hosts().filter(({ transport }) => transport === 'udp')
  }

  /** Ends a share with another node. */
  endShare(peer: number): void {
    this.#nodeShares?.end(peer, this.#options.now())
  }

  /** See `Links.figures`. */
  linkFigures(): PeerFigures[] {
    return this.#links?.figures(this.#options.now()) ?? []
  }

  /** A datagram of a link arrived. See `receive`. */
  receiveLink(datagram: Buffer, waitedMs: number): void {
    this.#links?.receive(datagram, this.#options.now(), this.#lateness.read(waitedMs))
  }

  /** Sends the frames of a publisher to `sink`; ends it at once without such a publisher. Returns a function that stops it. */
  tap(sessionId: string, sink: FrameSink): () => void {
    const publisher = this.#sessions.get(sessionId)?.publisher ?? null
    if (publisher !== null) return tap(publisher.source, sink, this.#options.now())
    sink.end()
    return () => undefined
  }

  /** A datagram arrived. It may be reused after this call. `waitedMs`: how long it waited in the socket. */
  receive(datagram: Buffer, from: Endpoint, waitedMs = 0): void {
    this.#isLate = this.#lateness.read(waitedMs)
    const nowMs = this.#options.now()
    try {
      if (this.#nodeShares?.receive(datagram, from, nowMs, this.#isLate) !== true)
        this.#server.receive(datagram, from, nowMs)
    } catch (error) {
      const transport = this.#server.at(from)
      this.failed(error, [...this.#sessions.values()].find((session) => session.transport === transport)?.id)
    }
  }

  /** A fault of ours in the work for a session or a feed ends it alone; without an id it is only told. */
  readonly failed = (error: unknown, sessionId?: string): void => {
    this.#options.fault(error)
    if (sessionId !== undefined) this.end(sessionId, 'lost')
  }

  /** How long datagrams waited since the last call. */
  waits(): Waits {
    return this.#lateness.take()
  }

  /** What the viewers of each room have reported since the last call. */
  feedback(): RoomFeedback[] {
    return this.#feedback.take()
  }

  /** Does the periodic work. Call it every `TICK_MS`. */
  tick(): void {
    const nowMs = this.#options.now()
    const each = (work: (session: RelaySession) => void): void =>
      eachWalled(this.#sessions.values(), work, (error, { id }) => this.failed(error, id))
    each((session) => this.#pace(session, nowMs))
    this.#feeds.pace(nowMs, this.failed)
    this.#links?.pace(nowMs)
    this.#nodeShares?.pace(nowMs)
    if (nowMs - this.#slowAtMs < SLOW_TICK_MS) return
    this.#slowAtMs = nowMs
    this.#looks.look(nowMs)
    const look = (session: RelaySession): void => {
      session.tick(nowMs)
      const silence = session.silence(nowMs, this.#looks)
      if (silence !== null) this.#options.emit(silence)
      const reason = session.timedOut(nowMs, this.#looks)
      if (reason !== null) this.#endSession(session.id, reason)
    }
    each(look)
    this.#reconcileFeeds()
    this.#links?.reconcile(nowMs)
    for (const id of this.#rooms.withoutSource(nowMs, this.#looks)) this.end(id, 'source_gone')
    if (nowMs - this.#bytesAtMs < BYTES_MS) return
    this.#bytesAtMs = nowMs
    for (const session of this.#sessions.values()) this.#reportBytes(session)
  }

  #pace(session: RelaySession, nowMs: number): void {
    session.pace(nowMs)
    const firstPacketMs = session.firstPacketMs(nowMs)
    if (firstPacketMs !== null) this.#feedback.of(session.room).firstPacket(firstPacketMs)
  }

  get #isFull(): boolean {
    return this.#sessions.size >= this.#options.maxSessions
  }

  /** Puts a session on record and answers its offer. `events`: what its role does with the transport's events. */
  #begin(
    options: Omit<RelaySessionOptions, 'publisherTimeoutMs'>,
    events: Omit<TransportEvents, 'closed'>,
  ): Negotiated {
    const { id, transport, offer, answers } = options
    const { publisherSilentMs, emit, now } = this.#options
    const session = new RelaySession({ ...options, publisherTimeoutMs: publisherSilentMs }, now())
    this.#sessions.set(id, session)
    transport.listen({
      ...events,
      connected: () => {
        emit({ kind: 'connected', sessionId: id, address: transport.address })
        events.connected()
      },
      closed: () => this.end(id, 'left'),
    })
    const transportCc = session.publisher !== null
    return {
      ok: true,
      answer: buildAnswer(offer, this.#server.describe(transport, transportCc), answers),
      etag: session.etag,
    }
  }

  #reconcileFeeds(): void {
    const isWatched = (sessionId: string, room: string): boolean =>
      this.#rooms.at(room)?.isWatched(sessionId) === true || this.#links?.isWatched(sessionId, room) === true
    this.#feeds.reconcile(this.#options.now(), isWatched)
  }

  /** Adds a source to a room, and ends the session whose source it replaces. */
  #replaceSource(room: string, source: Source): void {
    const replaced = this.#rooms.open(room).addSource(source, this.#options.now())
    this.#links?.refresh(room, this.#options.now())
    if (replaced !== undefined) this.end(replaced.sessionId, 'replaced')
  }

  /** The viewer's BYE leaves before its transport closes. A publisher's viewers wait from here on. */
  #endSession(sessionId: string, reason: EndReason): void {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return
    this.#sessions.delete(sessionId)
    const room = this.#rooms.at(session.room)
    if (session.viewer !== null) room?.leave(sessionId)
    try {
      session.viewer?.end()
      this.#server.close(session.transport)
    } catch (error) {
      this.#options.fault(error)
    }
    if (session.publisher !== null) this.#removeSource(session.room, sessionId)
    this.#rooms.closeIfEmpty(session.room)
    this.#reportBytes(session)
    this.#options.emit({ kind: 'ended', sessionId, reason })
  }

  #removeSource(room: string, sessionId: string): void {
    this.#rooms.at(room)?.removeSource(sessionId, this.#options.now())
    this.#links?.refresh(room, this.#options.now())
  }

  #endFeed(sessionId: string, reason: EndReason): void {
    const ended = this.#feeds.take(sessionId)
    if (ended === undefined) return
    ended.feed.end()
    this.#removeSource(ended.room, sessionId)
    this.#rooms.closeIfEmpty(ended.room)
    this.#options.emit({ kind: 'ended', sessionId, reason })
  }

  #reportBytes(session: RelaySession): void {
    const event = session.reportBytes(this.#options.now())
    if (event !== null) this.#options.emit(event)
  }
}
