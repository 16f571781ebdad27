import type { Random } from '../../base/random.ts'
import type { EndReason, MediaEngineEvent, Negotiated, Patched, PublishOffer, ViewOffer } from '../engine.ts'
import type { FrameSink, TrackInfo } from '../frame.ts'
import { Demultiplexer } from './transport/demultiplexer.ts'
import { TransportTable } from './transport/transportTable.ts'
import type { Identity } from './transport/dtls.ts'
import { createJsFanout, type Fanout } from './forward/fanout.ts'
import { NativeFanout } from './forward/fanoutNative.ts'
import type { NativeBackEnd } from './transport/nativeBackEnd.ts'
import { Feeds } from './forward/feeds.ts'
import { FrameFeed } from './forward/frameFeed.ts'
import { idleAnswer, linesOf, notServed, profileIn, sdpRefused, videoCodec, wantedTracksOf } from './negotiation.ts'
import { newDownTrack } from './outbound/newDownTrack.ts'
import { type Credentials, WebRtcTransport, type TransportEvents } from './transport/webRtcTransport.ts'
import { Publisher } from './inbound/publisher.ts'
import { Room } from './room.ts'
import type { DownTrack } from './outbound/downTrack.ts'
import type { Endpoint } from './transport/socket.ts'
import type { Source } from './forward/source.ts'
import { tap } from './forward/tap.ts'
import { Viewer } from './outbound/viewer.ts'
import { type AnsweredMedia, type AnswerTransport, buildAnswer } from './wire/sdp/answer.ts'
import type { HostAddress } from './wire/sdp/candidate.ts'
import { buildFragment, parseFragment } from './wire/sdp/fragment.ts'
import { type SdpOffer, parseOffer } from './wire/sdp/offer.ts'
import { planPublish, planView } from './wire/sdp/plan.ts'

export interface RelayOptions {
  readonly identity: Identity
  readonly random: Random
  /** Milliseconds since 1970 on a clock that never goes back. */
  readonly now: () => number
  /** Where peers are told to come to, the most wanted first. */
  readonly hosts: () => readonly HostAddress[]
  /** Bits per second that each publisher may send. */
  readonly maxBitrate: number
  readonly maxSessions: number
  /** A publisher that shows nothing of itself for so long is gone. */
  readonly publisherSilentMs: number
  /** The back end in C, where it is used. */
  readonly native?: NativeBackEnd | null
  send(datagram: Uint8Array, to: Endpoint): void
  /** No session is at this address any more: where it is a connection, that can be closed. */
  release(at: Endpoint): void
  emit(event: MediaEngineEvent): void
  /** Frames of a feed are wanted from now on, or no more. */
  want(sessionId: string, isWanted: boolean): void
}

/** How often `tick` is to be called. */
export const TICK_MS = 20

/** A viewer that shows nothing of itself for so long is gone: consent to be sent anything lasts no longer (RFC 7675 section 5.1). */
const VIEWER_SILENT_MS = 30_000
/** A transport that is not up by then never comes up. */
const CONNECT_MS = 10_000
const SLOW_TICK_MS = 200
const BYTES_MS = 1000
const NO_PRECONDITION =
  'Precondition Required: send If-Match with the ETag, or * to restart ICE; without it only candidates of the current a=ice-ufrag are taken'

interface RelaySession {
  readonly id: string
  readonly room: string
  readonly transport: WebRtcTransport
  readonly role: Publisher | Viewer
  readonly begunAtMs: number
  readonly mid: string
  readonly kind: 'audio' | 'video'
  etag: string
  told: { bytesIn: number; bytesOut: number }
}

/** All of one relay process: its peers by ICE user name and by address, its rooms, and what they are told of. */
export class Relay {
  readonly #options: RelayOptions
  readonly #sessions = new Map<string, RelaySession>()
  readonly #feeds: Feeds
  readonly #directory: TransportTable<RelaySession>
  readonly #rooms = new Map<string, Room>()
  readonly #profiles = new WeakMap<Source, string>()
  readonly #demultiplexer: Demultiplexer<RelaySession>
  #slowAtMs = 0
  #bytesAtMs = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#directory = new TransportTable((at) => options.release(at))
    this.#demultiplexer = new Demultiplexer(this.#directory, () => this.#sessions.values())
    this.#feeds = new Feeds((sessionId, isWanted) => options.want(sessionId, isWanted))
  }

  publish({ sessionId, room, sourceId, offer, codec }: PublishOffer): Negotiated {
    const read = parseOffer(offer)
    if (!read.ok) return sdpRefused(read.error)
    const wanted = codec === null ? null : videoCodec(codec)
    if (wanted === undefined)
      return notServed(`The codec ${String(codec).slice(0, 20)} is not known: h264, vp8, vp9 or av1.`)
    const plan = planPublish(read.value, wanted)
    if (!plan.ok) return sdpRefused(plan.error)
    const publisher = new Publisher(
      {
        sessionId,
        sourceId,
        lines: linesOf(read.value, plan.value),
        createFanout: () => this.#createFanout(),
        maxBitrate: this.#options.maxBitrate,
        tracks: (tracks) => this.#options.emit({ kind: 'tracks', sessionId, tracks }),
      },
      this.#options.now(),
    )
    const profile = profileIn(plan.value)
    if (profile !== null) this.#profiles.set(publisher.source, profile)
    const answers = plan.value.map(
      (chosen, at): AnsweredMedia =>
        chosen && {
          direction: 'recvonly',
          chosen,
          rids: chosen.name === 'opus' ? [] : (read.value.media[at]?.rids ?? []),
        },
    )
    return this.#begin({ sessionId, room, offer: read.value, answers, role: publisher })
  }

  view({ sessionId, room, sourceId, offer }: ViewOffer): Negotiated {
    const read = parseOffer(offer)
    if (!read.ok) return sdpRefused(read.error)
    const source = this.#rooms.get(room)?.source(sourceId)
    if (source === undefined) return { ok: false, status: 409, problem: 'Stream not being published' }
    const wanted = wantedTracksOf(source, this.#profiles.get(source) ?? null)
    const plan = planView(read.value, wanted)
    if (!plan.ok) return sdpRefused(plan.error)
    const downTracks: { at: number; downTrack: DownTrack }[] = []
    const holder: { transport: WebRtcTransport | null } = { transport: null }
    for (const [at, chosen] of plan.value.entries())
      if (chosen !== null) downTracks.push({ at, downTrack: newDownTrack(chosen, this.#options.random, holder) })
    const answers = plan.value.map((chosen, at): AnsweredMedia => {
      const downTrack = downTracks.find((one) => one.at === at)?.downTrack
      if (chosen === null || downTrack === undefined) return idleAnswer(read.value.media[at], wanted)
      const { ssrc, rtx, kind } = downTrack.options
      const ids = { streamId: 'stream', trackId: kind, cname: sessionId }
      return { direction: 'sendonly', chosen, ssrc, rtxSsrc: rtx?.ssrc ?? null, ...ids }
    })
    const viewer = new Viewer({ downTracks: downTracks.map(({ downTrack: sink }) => sink), cname: sessionId })
    const begun = this.#begin({ sessionId, room, offer: read.value, answers, role: viewer })
    holder.transport = this.#sessions.get(sessionId)?.transport ?? null
    if (!begun.ok) return begun
    this.#roomOf(room).enter(sessionId, viewer, sourceId, this.#options.now())
    // At once: what takes its time to begin has until the viewer's transport is up.
    this.#reconcileFeeds()
    return begun
  }

  /** Candidates of a peer are not needed by a lite agent, which waits for its checks; a restart gives new credentials. */
  patch(sessionId: string, text: string, mayRestart: boolean): Patched {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return { ok: false, status: 404, problem: 'There is no such session.' }
    const fragment = parseFragment(text)
    if (!fragment.ok) return { ok: false, status: 400, problem: fragment.error.problem }
    const { iceUfrag, icePwd } = fragment.value
    if (!mayRestart && iceUfrag !== session.etag) return { ok: false, status: 428, problem: NO_PRECONDITION }
    if (iceUfrag === null || icePwd === null || iceUfrag === session.etag)
      return { ok: true, answer: null, etag: session.etag }
    const credentials = this.#newCredentials()
    session.transport.restart(credentials, { ufrag: iceUfrag, pwd: icePwd }, this.#options.now())
    this.#directory.name(session, credentials.ufrag)
    session.etag = iceUfrag
    const { mid, kind } = session
    const hosts = this.#options.hosts()
    const answer = buildFragment({ iceUfrag: credentials.ufrag, icePwd: credentials.pwd, hosts, mid, kind })
    return { ok: true, answer, etag: session.etag }
  }

  /** Nothing is sent to or taken from the session after this. */
  end(sessionId: string, reason: EndReason = 'kicked'): void {
    const session = this.#sessions.get(sessionId)
    if (session !== undefined) this.#end(session, reason)
    this.#endFeed(sessionId, reason)
  }

  /** A source whose frames come from elsewhere; `end` of the sink ends it. */
  feed({ sessionId, room, sourceId }: Omit<ViewOffer, 'offer'>): FrameFeed {
    const { now } = this.#options
    const ready = (source: Source, tracks: readonly TrackInfo[]): void => {
      this.#options.emit({ kind: 'tracks', sessionId, tracks })
      this.#replace(this.#roomOf(room).put(source, now()))
      this.#reconcileFeeds()
    }
    const ended = (): void => this.#endFeed(sessionId, 'left')
    const feed = new FrameFeed({ sessionId, sourceId, createFanout: () => this.#createFanout(), ready, ended, now })
    this.#feeds.add(sessionId, room, feed)
    this.#options.emit({ kind: 'connected', sessionId, address: '' })
    return feed
  }

  /** The frames of a publisher. Ends at once when there is none of this session. Returns the function that stops it. */
  tap(sessionId: string, downTrack: FrameSink): () => void {
    const role = this.#sessions.get(sessionId)?.role
    if (role instanceof Publisher) return tap(role.source, downTrack, this.#options.now())
    downTrack.end()
    return () => undefined
  }

  /** A datagram came, for this call. */
  receive(datagram: Buffer, from: Endpoint): void {
    this.#demultiplexer.receive(datagram, from, this.#options.now())
  }

  /** Does what time asks for. Call it every `TICK_MS`. */
  tick(): void {
    const nowMs = this.#options.now()
    for (const { role } of this.#sessions.values()) role.pace(nowMs)
    this.#feeds.pace(nowMs)
    if (nowMs - this.#slowAtMs < SLOW_TICK_MS) return
    this.#slowAtMs = nowMs
    for (const session of this.#sessions.values()) {
      if (session.role instanceof Viewer) session.role.tick(nowMs)
      session.transport.tick(nowMs)
      const gone = this.#goneBecause(session, nowMs)
      if (gone !== null) this.#end(session, gone)
    }
    this.#reconcileFeeds()
    for (const room of this.#rooms.values()) for (const id of room.impatient(nowMs)) this.end(id, 'source_gone')
    if (nowMs - this.#bytesAtMs < BYTES_MS) return
    this.#bytesAtMs = nowMs
    for (const session of this.#sessions.values()) this.#reportBytes(session)
  }

  #reconcileFeeds(): void {
    this.#feeds.reconcile(
      this.#options.now(),
      (sessionId, room) => this.#rooms.get(room)?.isWatched(sessionId) === true,
    )
  }

  #begin(wish: {
    sessionId: string
    room: string
    offer: SdpOffer
    answers: readonly AnsweredMedia[]
    role: Publisher | Viewer
  }): Negotiated {
    if (this.#sessions.size >= this.#options.maxSessions)
      return { ok: false, status: 503, problem: 'The media server is full; come again later.' }
    const { sessionId, room, offer, role, answers } = wish
    const nowMs = this.#options.now()
    const credentials = this.#newCredentials()
    const media = offer.media[answers.findIndex((answer) => answer !== null)]
    const transport = this.#peerOf(sessionId, credentials, offer, role instanceof Publisher, nowMs)
    const session: RelaySession = {
      id: sessionId,
      room,
      transport,
      role,
      begunAtMs: nowMs,
      mid: media?.mid ?? '0',
      kind: media?.kind === 'audio' ? 'audio' : 'video',
      etag: offer.iceUfrag,
      told: { bytesIn: 0, bytesOut: 0 },
    }
    this.#sessions.set(sessionId, session)
    this.#directory.name(session, credentials.ufrag)
    const answer = buildAnswer(offer, this.#transportOf(credentials, role instanceof Publisher), answers)
    return { ok: true, answer, etag: session.etag }
  }

  #transportOf({ ufrag, pwd }: Credentials, transportCc: boolean): AnswerTransport {
    return {
      iceUfrag: ufrag,
      icePwd: pwd,
      fingerprint: this.#options.identity.fingerprint.value,
      sdpId: String(this.#options.random.bytes(6).readUIntBE(0, 6)),
      hosts: this.#options.hosts(),
      transportCc,
    }
  }

  #peerOf(
    sessionId: string,
    credentials: Credentials,
    { fingerprint, iceUfrag, icePwd }: SdpOffer,
    isPublisher: boolean,
    nowMs: number,
  ): WebRtcTransport {
    const session = (): RelaySession | undefined => this.#sessions.get(sessionId)
    const rtp = (packet: Buffer, index: number, atMs: number): void => {
      const role = session()?.role
      if (role instanceof Publisher) role.rtp(packet, index, atMs)
    }
    const events: TransportEvents = {
      connected: () => this.#connected(session()),
      rtp: isPublisher ? rtp : null,
      rtcp: (packets, atMs) => session()?.role.rtcp(packets, atMs),
      closed: () => this.end(sessionId, 'left'),
    }
    const { identity, random } = this.#options
    const located = (from: Endpoint, isProved: boolean): void => {
      const owner = session()
      if (owner !== undefined) this.#directory.locate(owner, from, isProved)
    }
    const send = (datagram: Uint8Array, to: Endpoint): void => this.#options.send(datagram, to)
    const native = this.#options.native ?? null
    const remote = { ufrag: iceUfrag, pwd: icePwd }
    return new WebRtcTransport(
      { credentials, remote, identity, fingerprint, events, native, random, send, located },
      nowMs,
    )
  }

  #connected(session: RelaySession | undefined): void {
    if (session === undefined) return
    const { id, room, role, transport } = session
    const nowMs = this.#options.now()
    this.#options.emit({ kind: 'connected', sessionId: id, address: transport.address })
    if (role instanceof Viewer) return role.begin(transport, nowMs)
    role.begin(transport)
    this.#replace(this.#roomOf(room).put(role.source, nowMs))
  }

  #replace(replaced: Source | undefined): void {
    if (replaced !== undefined) this.end(replaced.sessionId, 'replaced')
  }

  #end(session: RelaySession, reason: EndReason): void {
    if (this.#sessions.get(session.id) !== session) return
    this.#sessions.delete(session.id)
    const room = this.#rooms.get(session.room)
    if (session.role instanceof Viewer) {
      room?.leave(session.id)
      session.role.end()
    }
    session.transport.close()
    this.#directory.remove(session)
    if (session.role instanceof Publisher) room?.remove(session.id, this.#options.now())
    this.#forgetIfEmpty(session.room)
    this.#reportBytes(session)
    this.#options.emit({ kind: 'ended', sessionId: session.id, reason })
  }

  #endFeed(sessionId: string, reason: EndReason): void {
    const held = this.#feeds.take(sessionId)
    if (held === undefined) return
    held.feed.end()
    this.#rooms.get(held.room)?.remove(sessionId, this.#options.now())
    this.#forgetIfEmpty(held.room)
    this.#options.emit({ kind: 'ended', sessionId, reason })
  }

  #forgetIfEmpty(name: string): void {
    if (this.#rooms.get(name)?.isEmpty === true) this.#rooms.delete(name)
  }

  #roomOf(name: string): Room {
    const room = this.#rooms.get(name) ?? new Room()
    this.#rooms.set(name, room)
    return room
  }

  #reportBytes(session: RelaySession): void {
    const { bytesIn, bytesOut, mediaAtMs } = session.transport
    if (bytesIn === session.told.bytesIn && bytesOut === session.told.bytesOut) return
    session.told = { bytesIn, bytesOut }
    const silentMs = session.role instanceof Publisher ? this.#options.now() - mediaAtMs : 0
    this.#options.emit({ kind: 'bytes', sessionId: session.id, bytesIn, bytesOut, silentMs })
  }

  #createFanout(): Fanout {
    const addon = this.#options.native?.addon
    return addon === undefined ? createJsFanout() : new NativeFanout(addon)
  }

  #newCredentials(): Credentials {
    const { random } = this.#options
    return { ufrag: random.bytes(6).toString('hex'), pwd: random.bytes(16).toString('hex') }
  }

  #goneBecause({ transport, role, begunAtMs }: RelaySession, nowMs: number): EndReason | null {
    if (!transport.isConnected) return nowMs - begunAtMs > CONNECT_MS ? 'never_connected' : null
    const mostMs = role instanceof Publisher ? this.#options.publisherSilentMs : VIEWER_SILENT_MS
    return nowMs - transport.seenAtMs > mostMs ? 'lost' : null
  }
}
