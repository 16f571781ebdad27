import { createHmac } from 'node:crypto'
import type { Random } from '../../../base/random.ts'
import { Allowance } from './allowance.ts'
import { endpointKeyOf } from './transportTable.ts'
import {
  type AddressProof,
  DtlsHandshake,
  type CertificateFingerprint,
  type Identity,
  isHelloVerifyRequest,
} from './dtls.ts'
import type { RtpSender } from './rtpSender.ts'
import type { NativeBackEnd } from './nativeBackEnd.ts'
import type { NativeTransport } from './nativeTransport.ts'
import { Paths } from './paths.ts'
import type { Endpoint } from './socket.ts'
import { type RtpOpener, SrtpReader } from '../srtp/reader.ts'
import { type RtpHead, SrtpWriter } from '../srtp/writer.ts'
import { type BindingRequest, type BindingSuccess, bindingError, bindingSuccess, isAuthentic } from '../wire/stun.ts'
import { parseRtcp, type RtcpPacket } from '../wire/rtcp.ts'
import { isRtcp } from '../wire/rtp.ts'

/** What a peer tells the session that it belongs to. */
export interface TransportEvents {
  /** Media may flow. */
  connected(): void
  /** Null: this peer has nothing to send, and what it sends all the same is not even opened. */
  readonly rtp: ((packet: Buffer, index: number, nowMs: number) => void) | null
  rtcp(packets: readonly RtcpPacket[], nowMs: number): void
  /** It said goodbye, or proved not to be who the offer came from. */
  closed(): void
}

export interface TransportOptions {
  readonly credentials: Credentials
  /** Those of its offer. */
  readonly remote: Credentials
  readonly identity: Identity
  readonly fingerprint: CertificateFingerprint
  readonly events: TransportEvents
  readonly native: NativeBackEnd | null
  readonly random: Random
  send(datagram: Uint8Array, to: Endpoint): void
  /** This peer says that it is reached at `from`, or has proved it; what else comes from there is its own. */
  located(from: Endpoint, isProved: boolean): void
}

/** An ICE user name fragment and its password (RFC 8839 section 5.4). */
export interface Credentials {
  readonly ufrag: string
  readonly pwd: string
}

const ROLE_CONFLICT = 487
/** Answers that go where nothing is proved, beside those to checks: to who thinks that we control, and to the first words of DTLS. */
const UNPROVED = { burst: 8, perSecond: 0.5 }
/** SRTCP of one peer. A browser sends some five each second, and one for each gap where it misses much. */
const RTCP = { burst: 500, perSecond: 500 }
/** A peer that says nothing for so long is asked whether it is still there, and again after as long. */
const ASK_AFTER_MS = 3000
const COOKIE_BYTES = 20
/** One that was heard less long ago is where it was. */
const STRAY_AFTER_MS = 200

/** One WebRTC transport: ICE-lite, DTLS and SRTP with one peer (RFC 8445 section 2.5, RFC 5764). */
export class WebRtcTransport implements RtpSender {
  /**
   * Ours and the peer's, the present ones first. Those before a restart count until the next one: a browser may have begun to
   * use its new ports before it read the answer, and then stays with the credentials that it knew.
   */
  #credentials: readonly Credentials[]
  #remotes: readonly Credentials[]
  readonly #options: TransportOptions
  readonly #handshake: DtlsHandshake
  readonly #paths: Paths
  readonly #cookieKey: Buffer
  readonly #unproved = new Allowance(UNPROVED)
  readonly #rtcp = new Allowance(RTCP)
  /** Where the datagram came from that the handshake is at. */
  #hearing: Endpoint | null = null
  #nowMs: number
  #askedAtMs = 0
  #reader: SrtpReader | null = null
  #writer: SrtpWriter | null = null
  #isClosed = false
  /**
   * When it last showed that it is there, in milliseconds of the relay's clock: with media that only it can seal, or with the
   * answer to a check of ours. Checks of its own show nothing: whoever knows the password sends them from anywhere.
   */
  seenAtMs: number
  /** When its last media came. */
  mediaAtMs: number
  bytesIn = 0
  #native: NativeTransport | null = null
  #opener: RtpOpener | null = null
  #bytesOut = 0

  constructor(options: TransportOptions, nowMs: number) {
    this.#options = options
    this.#credentials = [options.credentials]
    this.#remotes = [options.remote]
    this.seenAtMs = nowMs
    this.mediaAtMs = nowMs
    this.#nowMs = nowMs
    this.#cookieKey = options.random.bytes(32)
    this.#paths = new Paths({
      random: options.random,
      send: (datagram, to) => options.send(datagram, to),
      passwordOf: (remoteUfrag) => this.#remotes.find(({ ufrag }) => ufrag === remoteUfrag)?.pwd,
      proved: (at) => options.located(at, true),
      moved: (to) => this.#native?.route(to),
    })
    this.#handshake = new DtlsHandshake({
      identity: options.identity,
      fingerprints: [options.fingerprint],
      send: (datagram) => this.#sendHandshake(datagram),
      connected: ({ inbound, outbound }) => {
        this.#opener = options.native?.createOpener(inbound) ?? null
        this.#reader = new SrtpReader(inbound, this.#opener)
        this.#writer = new SrtpWriter(outbound)
        this.#native = options.native?.createTransport(outbound) ?? null
        this.#native?.route(this.#paths.present)
        this.seenAtMs = this.#nowMs
        this.mediaAtMs = this.#nowMs
        options.events.connected()
      },
      failed: () => options.events.closed(),
      closed: () => options.events.closed(),
    })
  }

  /** As the back end in C knows it, which sends what is the same for many. */
  get native(): NativeTransport | null {
    return this.#native
  }

  get bytesOut(): number {
    return this.#bytesOut + (this.#native?.bytesOut ?? 0)
  }

  get isConnected(): boolean {
    return this.#writer !== null
  }

  get address(): string {
    return this.#paths.present?.address ?? ''
  }

  /** New ones for an ICE restart (RFC 8445 section 9), ours and the peer's; DTLS and SRTP go on. */
  restart(credentials: Credentials, remote: Credentials, nowMs: number): void {
    this.#credentials = [credentials, ...this.#credentials].slice(0, 2)
    this.#remotes = [remote, ...this.#remotes].slice(0, 2)
    this.#paths.renewed(nowMs)
  }

  /** A connectivity check whose user name is ours. Only what is signed with the password is believed. */
  receiveCheck(request: BindingRequest, from: Endpoint, nowMs: number): void {
    const credentials = this.#credentials.find(({ ufrag }) => ufrag === request.localUfrag)
    if (this.#isClosed || credentials === undefined || !isAuthentic(request, credentials.pwd)) return
    const { transactionId, localUfrag: local, remoteUfrag: remote, useCandidate } = request
    if (request.controlled) {
      if (!this.#unproved.take(nowMs)) return
      this.#options.send(bindingError(transactionId, ROLE_CONFLICT, 'Role Conflict', credentials.pwd), from)
      return
    }
    const isAnswered = this.#paths.heard(from, { local, remote }, useCandidate, nowMs)
    this.#options.located(from, this.#paths.isProved(from))
    if (isAnswered) this.#options.send(bindingSuccess(transactionId, from.address, from.port, credentials.pwd), from)
  }

  /** An answer to a check of ours. It shows that the peer is there only where media goes. */
  receiveAnswer(answer: BindingSuccess, from: Endpoint, nowMs: number): void {
    if (this.#isClosed || !this.#paths.answered(answer, from, nowMs)) return
    if (this.#paths.isPresent(from)) this.seenAtMs = nowMs
  }

  /** Call it several times a second: asks a peer that says nothing whether it is still there. */
  tick(nowMs: number): void {
    if (!this.isConnected || nowMs - Math.max(this.seenAtMs, this.#askedAtMs) < ASK_AFTER_MS) return
    this.#askedAtMs = nowMs
    this.#paths.askPresent()
  }

  receiveDtls(datagram: Buffer, from: Endpoint, nowMs: number): void {
    if (this.#isClosed) return
    this.#hearing = from
    this.#nowMs = nowMs
    this.#handshake.receive(datagram, this.#paths.isProved(from) ? null : this.#proofOf(from, nowMs))
    this.#hearing = null
  }

  /** SRTP or SRTCP. What is not genuine is as if it had not come. */
  receiveMedia(sealed: Buffer, from: Endpoint, nowMs: number): void {
    if (this.#reader === null || this.#isClosed) return
    if (isRtcp(sealed)) this.#receiveRtcp(this.#reader, sealed, from, nowMs)
    else if (this.#options.events.rtp !== null) this.#receiveRtp(this.#reader, sealed, nowMs)
  }

  /** Whether what comes from `from`, where nobody is known to be, may be this peer's: it is silent at another port of that host. */
  mayBeAt({ address, via }: Endpoint, nowMs: number): boolean {
    const { present } = this.#paths
    const isSilent = nowMs - this.seenAtMs > STRAY_AFTER_MS
    return isSilent && this.#reader !== null && present?.address === address && present.via === via
  }

  /** False: it is not this peer's. The datagram is spoilt then; give a copy. */
  receiveStray(sealed: Buffer, from: Endpoint, nowMs: number): boolean {
    if (this.#reader === null) return false
    const isOurs = isRtcp(sealed)
      ? this.#reader.rtcp(sealed) !== undefined
      : this.#options.events.rtp !== null && this.#receiveRtp(this.#reader, sealed, nowMs)
    if (!isOurs) return false
    this.#options.located(from, false)
    this.#paths.strayed(from, nowMs)
    return true
  }

  sendRtp(head: RtpHead, payload: Buffer): void {
    if (this.#writer !== null) this.#sendMedia(this.#writer.rtp(head, payload))
  }

  /** Several packets as one compound. */
  sendRtcp(...packets: readonly Buffer[]): void {
    if (this.#writer !== null) this.#sendMedia(this.#writer.rtcp(Buffer.concat(packets)))
  }

  /** Says goodbye and forgets the keys: nothing is sent after this. */
  close(): void {
    if (this.#isClosed) return
    this.#handshake.close()
    this.#isClosed = true
    this.#native?.close()
    this.#opener?.close()
    this.#writer = null
    this.#reader = null
  }

  /** False: it is not genuine. */
  #receiveRtp(reader: SrtpReader, sealed: Buffer, nowMs: number): boolean {
    const opened = reader.rtp(sealed)
    if (opened === undefined) return false
    this.#took(sealed, nowMs)
    this.mediaAtMs = nowMs
    this.#options.events.rtp?.(opened.packet, opened.index, nowMs)
    return true
  }

  /** What it asks for goes to where it is, and so it must ask from there. */
  #receiveRtcp(reader: SrtpReader, sealed: Buffer, from: Endpoint, nowMs: number): void {
    if (!this.#paths.isPresent(from) || !this.#rtcp.take(nowMs)) return
    const compound = reader.rtcp(sealed)
    const packets = compound === undefined ? null : parseRtcp(compound)
    if (packets === null) return
    this.#took(sealed, nowMs)
    this.#options.events.rtcp(packets, nowMs)
  }

  #took(sealed: Buffer, nowMs: number): void {
    this.seenAtMs = nowMs
    this.bytesIn += sealed.length
  }

  /** A cookie of its own for each address, so that one that was read at another proves nothing. */
  #proofOf(from: Endpoint, nowMs: number): AddressProof {
    const cookie = createHmac('sha256', this.#cookieKey).update(endpointKeyOf(from)).digest().subarray(0, COOKIE_BYTES)
    return { cookie, proved: () => this.#paths.prove(from, nowMs) }
  }

  #sendHandshake(datagram: Uint8Array): void {
    if (this.#paths.present !== null) this.#send(datagram)
    else if (this.#hearing !== null && isHelloVerifyRequest(datagram) && this.#unproved.take(this.#nowMs))
      this.#options.send(datagram, this.#hearing)
  }

  #sendMedia(sealed: Buffer): void {
    this.#bytesOut += sealed.length
    this.#send(sealed)
  }

  #send(datagram: Uint8Array): void {
    const { present } = this.#paths
    if (present !== null && !this.#isClosed) this.#options.send(datagram, present)
  }
}
