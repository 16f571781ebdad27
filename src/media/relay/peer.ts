import { Handshake, type Fingerprint, type Identity } from './dtls.ts'
import type { RtpSender } from './fanout.ts'
import type { NativeBackEnd, NativePeer } from './fanoutNative.ts'
import type { Endpoint } from './socket.ts'
import { type RtpOpener, SrtpReader } from './srtp/reader.ts'
import { type RtpHead, SrtpWriter } from './srtp/writer.ts'
import { type BindingRequest, bindingError, bindingSuccess, isAuthentic } from './wire/stun.ts'
import { parseRtcp, type RtcpPacket } from './wire/rtcp.ts'
import { isRtcp } from './wire/rtp.ts'

/** What a peer tells the session that it belongs to. */
export interface PeerEvents {
  /** Media may flow. */
  connected(): void
  rtp(packet: Buffer, index: number, nowMs: number): void
  rtcp(packets: readonly RtcpPacket[], nowMs: number): void
  /** It said goodbye, or proved not to be who the offer came from. */
  closed(): void
}

export interface PeerOptions {
  readonly credentials: Credentials
  readonly identity: Identity
  readonly fingerprint: Fingerprint
  readonly events: PeerEvents
  readonly native: NativeBackEnd | null
  send(datagram: Uint8Array, to: Endpoint): void
  /** This peer is reached at `from` now; what else comes from there is its own. */
  located(from: Endpoint): void
}

/** Our ICE user name fragment and password (RFC 8839 section 5.4). */
export interface Credentials {
  readonly ufrag: string
  readonly pwd: string
}

const ROLE_CONFLICT = 487

/** One WebRTC transport: ICE-lite, DTLS and SRTP with one peer (RFC 8445 section 2.5, RFC 5764). */
export class Peer implements RtpSender {
  /**
   * The present ones first. Those before a restart count until the next one: a browser may have begun to use its new ports
   * before it read the answer, and then stays with the credentials that it knew.
   */
  #credentials: readonly Credentials[]
  readonly #options: PeerOptions
  readonly #handshake: Handshake
  #remote: Endpoint | null = null
  #reader: SrtpReader | null = null
  #writer: SrtpWriter | null = null
  #isClosed = false
  /** When something genuine last came, in milliseconds of the relay's clock. */
  seenAtMs: number
  bytesIn = 0
  #native: NativePeer | null = null
  #opener: RtpOpener | null = null
  #bytesOut = 0

  constructor(options: PeerOptions, nowMs: number) {
    this.#options = options
    this.#credentials = [options.credentials]
    this.seenAtMs = nowMs
    this.#handshake = new Handshake({
      identity: options.identity,
      fingerprints: [options.fingerprint],
      send: (datagram) => this.#send(datagram),
      connected: ({ inbound, outbound }) => {
        this.#opener = options.native?.createOpener(inbound) ?? null
        this.#reader = new SrtpReader(inbound, this.#opener)
        this.#writer = new SrtpWriter(outbound)
        this.#native = options.native?.createPeer(outbound) ?? null
        this.#native?.route(this.#remote)
        options.events.connected()
      },
      failed: () => options.events.closed(),
      closed: () => options.events.closed(),
    })
  }

  /** As the back end in C knows it, which sends what is the same for many. */
  get native(): NativePeer | null {
    return this.#native
  }

  get bytesOut(): number {
    return this.#bytesOut + (this.#native?.bytesOut ?? 0)
  }

  get isConnected(): boolean {
    return this.#writer !== null
  }

  get address(): string {
    return this.#remote?.address ?? ''
  }

  /** New ones for an ICE restart (RFC 8445 section 9); DTLS and SRTP go on. */
  restart(credentials: Credentials): void {
    this.#credentials = [credentials, ...this.#credentials].slice(0, 2)
  }

  /** A connectivity check whose user name is ours. Only what is signed with the password is believed. */
  receiveCheck(request: BindingRequest, from: Endpoint, nowMs: number): void {
    const credentials = this.#credentials.find(({ ufrag }) => ufrag === request.localUfrag)
    if (this.#isClosed || credentials === undefined || !isAuthentic(request, credentials.pwd)) return
    this.seenAtMs = nowMs
    const { transactionId } = request
    const answer = request.controlled
      ? bindingError(transactionId, ROLE_CONFLICT, 'Role Conflict', credentials.pwd)
      : bindingSuccess(transactionId, from.address, from.port, credentials.pwd)
    this.#options.send(answer, from)
    if (request.controlled) return
    this.#options.located(from)
    if (request.useCandidate || this.#remote === null) this.#moveTo(from)
  }

  #moveTo(remote: Endpoint): void {
    const { address, port, via } = this.#remote ?? {}
    const hasMoved = address !== remote.address || port !== remote.port || via !== remote.via
    this.#remote = remote
    if (hasMoved) this.#native?.route(remote)
  }

  receiveDtls(datagram: Buffer): void {
    if (!this.#isClosed) this.#handshake.receive(datagram)
  }

  /** SRTP or SRTCP. What is not genuine is as if it had not come. */
  receiveMedia(sealed: Buffer, nowMs: number): void {
    if (this.#reader === null || this.#isClosed) return
    if (isRtcp(sealed)) {
      const compound = this.#reader.rtcp(sealed)
      const packets = compound === undefined ? null : parseRtcp(compound)
      if (packets === null) return
      this.#took(sealed, nowMs)
      this.#options.events.rtcp(packets, nowMs)
      return
    }
    const opened = this.#reader.rtp(sealed)
    if (opened === undefined) return
    this.#took(sealed, nowMs)
    this.#options.events.rtp(opened.packet, opened.index, nowMs)
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

  #took(sealed: Buffer, nowMs: number): void {
    this.seenAtMs = nowMs
    this.bytesIn += sealed.length
  }

  #sendMedia(sealed: Buffer): void {
    this.#bytesOut += sealed.length
    this.#send(sealed)
  }

  #send(datagram: Uint8Array): void {
    if (this.#remote !== null && !this.#isClosed) this.#options.send(datagram, this.#remote)
  }
}
