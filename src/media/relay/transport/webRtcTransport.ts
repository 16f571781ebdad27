import type { KeyObject } from 'node:crypto'
import { hmacKey, hmacSha256 } from '../../../base/crypto.ts'
import type { Random } from '../../../base/random.ts'
import { LaterFault } from '../../../base/walls.ts'
import type { RtpHead } from '../srtp/writer.ts'
import { parseRtcp } from '../wire/rtcp/rtcp.ts'
import { isRtcp } from '../wire/rtp.ts'
import type { BindingRequest, BindingSuccess } from '../wire/stun.ts'
import { Allowance } from '../../../base/allowance.ts'
import { type AddressProof, type CertificateFingerprint, DtlsHandshake, type Identity } from './dtls.ts'
import { isHelloVerifyRequest } from './dtlsRecords.ts'
import { type Credentials, IceLiteAgent } from './iceLite.ts'
import type { NativeBackEnd } from './nativeBackEnd.ts'
import type { NativeTransport } from './nativeTransport.ts'
import type { RtpSender } from './rtpSender.ts'
import type { Endpoint } from './socket.ts'
import { SrtpSession } from './srtpSession.ts'
import { NO_EVENTS, type TransportEvents } from './transportEvents.ts'
import { endpointKeyOf } from './transportTable.ts'

export interface TransportOptions {
  readonly credentials: Credentials
  /** The credentials in the peer's offer. */
  readonly remote: Credentials
  /** See `IceLiteOptions`. */
  readonly candidates?: readonly Endpoint[] | undefined
  readonly identity: Identity
  /** See `HandshakeOptions`. */
  readonly fingerprints: readonly CertificateFingerprint[]
  /** Ours; the peer has the other one. */
  readonly dtlsRole: 'server' | 'client'
  readonly native: NativeBackEnd | null
  readonly random: Random
  send(datagram: Uint8Array, to: Endpoint): void
  /** The peer claims that it is reached at `from`, or has proved it; what else comes from there belongs to it. */
  located(from: Endpoint, isProved: boolean): void
}

/** SRTCP of one peer. A browser sends about five packets a second, and one for each gap when it loses much. */
const RTCP = { burst: 500, perSecond: 500 }
/** A silent peer gets a connectivity check after this time, and again after as long. */
const CHECK_AFTER_MS = 3000
const COOKIE_BYTES = 20
/** A peer that sent something more recently than this has not moved. */
const STRAY_AFTER_MS = 200

/**
 * One WebRTC transport: ICE, DTLS and SRTP with one peer (RFC 8445, RFC 5764).
 *
 * - **Connecting** (`#srtp` is null): checks are answered, candidates of the peer are checked, and DTLS goes on with addresses
 *   that have proved themselves. No media is sent or taken. The end of the handshake leads to connected.
 * - **Connected**: media goes to the present path. `tick` checks a peer that has fallen silent, and a peer that moved is
 *   found by its checks or its media. `restart` renews the credentials of ICE in both states; DTLS and SRTP go on.
 * - **Closed** (`#isClosed`), by `close` alone: nothing is sent, taken or located. A handshake that failed and a goodbye of
 *   the peer only report `closed` to the events, and the session then closes its transport.
 *
 * `WebRtcServer` opens, restarts and closes it, and its demultiplexer passes each datagram to one of `receive…`. The session
 * listens, ticks, and decides by `seenAtMs` and `mediaAtMs` whether the peer is gone. Tracks send over it.
 */
export class WebRtcTransport implements RtpSender {
  readonly #options: TransportOptions
  readonly #ice: IceLiteAgent
  readonly #handshake: DtlsHandshake
  readonly #cookieKey: KeyObject
  readonly #rtcp = new Allowance(RTCP)
  #events: TransportEvents = NO_EVENTS
  /** Of its handshake, which has turns of its own, in a library that would swallow it. */
  readonly #fault = new LaterFault()
  /** Where the datagram that the handshake works on came from. */
  #hearing: Endpoint | null = null
  #nowMs: number
  #checkedAtMs = 0
  /** Null before DTLS is done, and after the end. */
  #srtp: SrtpSession | null = null
  #isClosed = false
  /**
   * When the peer last proved to be alive, in milliseconds of the relay's clock: by media, which only it can seal, or by an
   * answer to our check. Its own checks prove nothing: anyone who knows the password can send them from anywhere.
   */
  seenAtMs: number
  /** When its last media arrived. */
  mediaAtMs: number
  bytesIn = 0
  #bytesOut = 0

  constructor(options: TransportOptions, nowMs: number) {
    this.#options = options
    this.seenAtMs = nowMs
    this.mediaAtMs = nowMs
    this.#nowMs = nowMs
    this.#cookieKey = hmacKey(options.random.bytes(32))
    const { credentials, remote, candidates, random, identity, fingerprints, dtlsRole } = options
    this.#ice = new IceLiteAgent({
      credentials,
      remote,
      candidates,
      random,
      send: (datagram, to) => options.send(datagram, to),
      located: (from, isProved) => this.#located(from, isProved),
      moved: (to) => {
        this.native?.route(to)
        this.#handshake.start()
      },
    })
    this.#handshake = new DtlsHandshake({
      identity,
      role: dtlsRole,
      fingerprints,
      send: (datagram) => this.#sendHandshake(datagram),
      connected: ({ inbound, outbound }) => {
        this.#srtp = new SrtpSession(inbound, outbound, options.native)
        this.#srtp.native?.route(this.#ice.paths.present)
        this.seenAtMs = this.#nowMs
        this.mediaAtMs = this.#nowMs
        this.#fault.during(() => this.#events.connected())
      },
      failed: () => this.#events.closed(),
      closed: () => this.#events.closed(),
    })
  }

  /** Reports to `events` from now on. Call it before the peer has its answer, and so before anything arrives. */
  listen(events: TransportEvents): void {
    this.#events = events
  }

  /** The same transport in the native back end, which sends what goes to many viewers. */
  get native(): NativeTransport | null {
    return this.#srtp?.native ?? null
  }

  /** Our ICE credentials, as an answer names them. */
  get credentials(): Credentials {
    return this.#ice.credentials
  }

  get bytesOut(): number {
    return this.#bytesOut + (this.native?.bytesOut ?? 0)
  }

  get isConnected(): boolean {
    return this.#srtp !== null
  }

  /** The IP address where media goes; '' before the first proof. */
  get address(): string {
    return this.#ice.paths.present?.address ?? ''
  }

  /** Restarts ICE (RFC 8445 section 9) with new credentials of both sides; DTLS and SRTP continue. */
  restart(credentials: Credentials, remote: Credentials, nowMs: number): void {
    this.#ice.restart(credentials, remote, nowMs)
  }

  receiveCheck(request: BindingRequest, from: Endpoint, nowMs: number): void {
    if (!this.#isClosed) this.#ice.receiveCheck(request, from, nowMs)
  }

  receiveAnswer(answer: BindingSuccess, from: Endpoint, nowMs: number): void {
    if (!this.#isClosed && this.#ice.receiveAnswer(answer, from, nowMs)) this.seenAtMs = nowMs
  }

  /**
   * Call it several times a second: sends checks to a silent peer, and before the connection to its candidates.
   * @throws what went wrong in its handshake
   */
  tick(nowMs: number): void {
    if (this.#isClosed) return
    this.#fault.raise()
    if (!this.isConnected) return this.#ice.seek(nowMs)
    if (nowMs - Math.max(this.seenAtMs, this.#checkedAtMs) < CHECK_AFTER_MS) return
    this.#checkedAtMs = nowMs
    this.#ice.paths.askPresent()
  }

  receiveDtls(datagram: Buffer, from: Endpoint, nowMs: number): void {
    if (this.#isClosed) return
    this.#hearing = from
    this.#nowMs = nowMs
    const proof = this.#ice.paths.isProved(from) ? null : this.#proofOf(from, nowMs)
    this.#fault.during(() => this.#handshake.receive(datagram, proof))
    this.#hearing = null
  }

  /** SRTP or SRTCP. A packet that is not authentic has no effect. */
  receiveMedia(sealed: Buffer, from: Endpoint, nowMs: number): void {
    if (this.#srtp === null) return
    if (isRtcp(sealed)) this.#receiveRtcp(this.#srtp, sealed, from, nowMs)
    else if (this.#events.rtp !== null) this.#receiveRtp(this.#srtp, sealed, nowMs)
  }

  /** Whether a packet from `from`, an unknown address, may be this peer's: the peer is silent, on another port of that host. */
  mayBeAt({ address, via }: Endpoint, nowMs: number): boolean {
    const { present } = this.#ice.paths
    const isSilent = nowMs - this.seenAtMs > STRAY_AFTER_MS
    return isSilent && this.#srtp !== null && present?.address === address && present.via === via
  }

  /** Returns false for a packet of another peer. That spoils the datagram: pass a copy. */
  receiveStray(sealed: Buffer, from: Endpoint, nowMs: number): boolean {
    if (this.#srtp === null) return false
    const isOurs = isRtcp(sealed)
      ? this.#srtp.openRtcp(sealed) !== undefined
      : this.#events.rtp !== null && this.#receiveRtp(this.#srtp, sealed, nowMs)
    if (!isOurs) return false
    this.#located(from, false)
    this.#ice.paths.strayed(from, nowMs)
    return true
  }

  sendRtp(head: RtpHead, payload: Buffer): void {
    if (this.#srtp !== null) this.#sendMedia(this.#srtp.sealRtp(head, payload))
  }

  /** Sends several packets as one compound. */
  sendRtcp(...packets: readonly Buffer[]): void {
    if (this.#srtp !== null) this.#sendMedia(this.#srtp.sealRtcp(Buffer.concat(packets)))
  }

  /** Sends a close_notify and forgets the keys. Nothing is sent after this. */
  close(): void {
    if (this.#isClosed) return
    this.#handshake.close()
    this.#isClosed = true
    this.#bytesOut = this.bytesOut
    this.#srtp?.close()
    this.#srtp = null
  }

  /** Returns false for a packet that is not authentic. */
  #receiveRtp(srtp: SrtpSession, sealed: Buffer, nowMs: number): boolean {
    const opened = srtp.openRtp(sealed)
    if (opened === undefined) return false
    this.#count(sealed, nowMs)
    this.mediaAtMs = nowMs
    this.#events.rtp?.(opened.packet, opened.index, nowMs)
    return true
  }

  /** Feedback makes us send more to the current address, so it counts only when it comes from there. */
  #receiveRtcp(srtp: SrtpSession, sealed: Buffer, from: Endpoint, nowMs: number): void {
    if (!this.#ice.paths.isPresent(from) || !this.#rtcp.take(nowMs)) return
    const compound = srtp.openRtcp(sealed)
    const packets = compound === undefined ? null : parseRtcp(compound)
    if (packets === null) return
    this.#count(sealed, nowMs)
    this.#events.rtcp(packets, nowMs)
  }

  #count(sealed: Buffer, nowMs: number): void {
    this.seenAtMs = nowMs
    this.bytesIn += sealed.length
  }

  /** A closed transport has no addresses: its entries in the table are gone, and must not come back. */
  #located(from: Endpoint, isProved: boolean): void {
    if (!this.#isClosed) this.#options.located(from, isProved)
  }

  /** Each address gets a cookie of its own, so that a cookie read at one address proves nothing about another. */
  #proofOf(from: Endpoint, nowMs: number): AddressProof {
    const cookie = hmacSha256(this.#cookieKey, endpointKeyOf(from)).subarray(0, COOKIE_BYTES)
    return { cookie, proved: () => this.#ice.paths.prove(from, nowMs) }
  }

  #sendHandshake(datagram: Uint8Array): void {
    if (this.#ice.paths.present !== null) this.#send(datagram)
    else if (this.#hearing !== null && isHelloVerifyRequest(datagram) && this.#ice.mayAnswerUnproved(this.#nowMs))
      this.#options.send(datagram, this.#hearing)
  }

  #sendMedia(sealed: Buffer): void {
    this.#bytesOut += sealed.length
    this.#send(sealed)
  }

  #send(datagram: Uint8Array): void {
    const { present } = this.#ice.paths
    if (present !== null && !this.#isClosed) this.#options.send(datagram, present)
  }
}
