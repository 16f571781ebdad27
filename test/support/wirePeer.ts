import { randomBytes } from 'node:crypto'
import { DtlsClient, DtlsServer, type Transport } from 'werift'
import { systemRandom } from '../../src/base/random.ts'
import type { MediaEngineEvent, Negotiated } from '../../src/media/engine.ts'
import { createIdentity, createTransport } from '../../src/media/relay/transport/dtls.ts'
import { Relay, type RelayOptions, TICK_MS } from '../../src/media/relay/relay.ts'
import type { Endpoint } from '../../src/media/relay/transport/socket.ts'
import { profileOf } from '../../src/media/relay/srtp/keys.ts'
import { SrtpReader } from '../../src/media/relay/srtp/reader.ts'
import { SrtpWriter } from '../../src/media/relay/srtp/writer.ts'
import { parseRtcp } from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { bindingRequest, bindingSuccess, parseBindingRequest } from '../../src/media/relay/wire/stun.ts'
import { until } from './until.ts'

/** The certificate of both ends. */
export const identity = await createIdentity()

/** What a peer needs of a network. */
export interface Wire {
  readonly nowMs: number
  /** Hands every datagram that is sent to this address to `take`. */
  listen(at: Endpoint, take: (datagram: Buffer) => void): void
  /** A datagram for the relay arrives. */
  send(datagram: Buffer, from: Endpoint): void
}

export const addressOf = (port: number, address = '192.0.2.1'): Endpoint => ({ address, port, via: 0 })

const keyOf = ({ address, port, via }: Endpoint): string => `${via} ${address} ${port}`

/** A relay without sockets, on a manual clock, and all that it sends. */
export class WireNet implements Wire {
  nowMs = 1_750_000_000_000
  readonly relay: Relay
  readonly events: MediaEngineEvent[] = []
  readonly #sent = new Map<string, Buffer[]>()
  readonly #takers = new Map<string, (datagram: Buffer) => void>()

  constructor(over: Partial<RelayOptions> = {}) {
    this.relay = new Relay({
      identity,
      random: systemRandom,
      now: () => this.nowMs,
      later: (work) => work(),
      hosts: () => [{ transport: 'udp', address: '198.51.100.1', port: 8081 }],
      maxBitrate: 2_500_000,
      maxSessions: 20,
      publisherSilentMs: 15_000,
      send: (datagram, to) => this.#deliver(Buffer.from(datagram), to),
      fault: (error) => {
        throw error
      },
      emit: (event) => this.events.push(event),
      want: () => undefined,
      release: () => undefined,
      ...over,
    })
  }

  /** Passes packets for this address to `take` as well. */
  listen(at: Endpoint, take: (datagram: Buffer) => void): void {
    this.#takers.set(keyOf(at), take)
  }

  /** All packets that were sent to this address. */
  sentTo(at: Endpoint): readonly Buffer[] {
    return this.#sent.get(keyOf(at)) ?? []
  }

  bytesTo(at: Endpoint): number {
    return this.sentTo(at).reduce((sum, { length }) => sum + length, 0)
  }

  /** A datagram for the relay arrives. */
  send(datagram: Buffer, from: Endpoint): void {
    this.relay.receive(Buffer.from(datagram), from)
  }

  /** Advances the clock; calls `step` after each turn of the relay, with the elapsed time. */
  async pass(ms: number, step: (passedMs: number) => void = () => undefined): Promise<void> {
    for (let passed = TICK_MS; passed <= ms; passed += TICK_MS) {
      this.nowMs += TICK_MS
      this.relay.tick()
      step(passed)
      await turn()
    }
  }

  endOf(sessionId: string): Extract<MediaEngineEvent, { kind: 'ended' }> | undefined {
    return this.events.find((event) => event.kind === 'ended' && event.sessionId === sessionId) as
      | Extract<MediaEngineEvent, { kind: 'ended' }>
      | undefined
  }

  #deliver(datagram: Buffer, to: Endpoint): void {
    const sent = this.#sent.get(keyOf(to)) ?? []
    sent.push(datagram)
    this.#sent.set(keyOf(to), sent)
    const take = this.#takers.get(keyOf(to))
    // As from a network: never within the code that sent it.
    if (take !== undefined) setImmediate(take, datagram)
  }
}

/** Delivers the datagrams that were sent so far. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const [GCM, CM] = [7, 1] as const
const BINDING_SUCCESS = 0x0101
/** Past the last flight of a handshake: werift gives up. */
const PAST_FLIGHTS = 99
export const PAYLOAD_TYPE = 96
const FRAGMENT_BYTES = 1100

/** A peer that the test controls, well-behaved or not. Its ICE, DTLS and SRTP are real. */
export class WirePeer {
  readonly ssrc = 0x1234
  /** The address that it sends from and receives at. */
  at: Endpoint
  /** Its role in DTLS; a passive one waits for the relay, as FFmpeg does. */
  setup: 'active' | 'passive' = 'active'
  /** Whether it answers the relay's connectivity checks. */
  answersChecks = true
  /** Ports at which it does not answer them. */
  readonly deafAt = new Set<number>()
  /** Received packets, decrypted. */
  readonly media: Buffer[] = []
  readonly control: Buffer[] = []
  /** PLIs that it received. */
  asked = 0
  /** ICE credentials: its own, and those of the relay. */
  names = { ufrag: randomBytes(4).toString('hex'), pwd: randomBytes(16).toString('hex') }
  remote = { ufrag: '', pwd: '' }
  /** The SSRCs of the answer, in order. */
  ssrcs: number[] = []
  readonly #net: Wire
  #transport: Transport | null = null
  #dtls: DtlsClient | DtlsServer | null = null
  #reader: SrtpReader | null = null
  #writer: SrtpWriter | null = null
  #sent = 0

  constructor(net: Wire, at: Endpoint) {
    this.#net = net
    this.at = at
    this.hear(at)
  }

  /** Receives at this address as well. */
  hear(at: Endpoint): void {
    this.#net.listen(at, (datagram) => this.take(datagram, at))
  }

  offer(direction: 'sendonly' | 'recvonly'): string {
    const { algorithm, value } = identity.fingerprint
    return [
      'v=0',
      'o=- 1 1 IN IP4 192.0.2.1',
      's=-',
      't=0 0',
      'a=group:BUNDLE 0',
      `m=video 9 UDP/TLS/RTP/SAVPF ${PAYLOAD_TYPE} 97`,
      'c=IN IP4 0.0.0.0',
      'a=mid:0',
      `a=${direction}`,
      'a=rtcp-mux',
      `a=ice-ufrag:${this.names.ufrag}`,
      `a=ice-pwd:${this.names.pwd}`,
      `a=fingerprint:${algorithm} ${value}`,
      `a=setup:${this.setup}`,
      `a=rtpmap:${PAYLOAD_TYPE} VP8/90000`,
      `a=rtcp-fb:${PAYLOAD_TYPE} nack`,
      `a=rtcp-fb:${PAYLOAD_TYPE} nack pli`,
      `a=rtcp-fb:${PAYLOAD_TYPE} goog-remb`,
      'a=rtpmap:97 rtx/90000',
      `a=fmtp:97 apt=${PAYLOAD_TYPE}`,
      '',
    ].join('\r\n')
  }

  accept(answer: Negotiated): void {
    if (!answer.ok) throw new Error(answer.problem)
    const found = (pattern: RegExp): string => pattern.exec(answer.answer)?.[1] ?? ''
    this.remote = { ufrag: found(/a=ice-ufrag:(\S+)/), pwd: found(/a=ice-pwd:(\S+)/) }
    this.ssrcs = [...answer.answer.matchAll(/a=ssrc:(\d+) cname/g)].map(([, ssrc]) => Number(ssrc))
  }

  publish(relay: Relay, sessionId: string, room = 'a/show'): void {
    const offer = this.offer('sendonly')
    this.accept(relay.publish({ sessionId, room, sourceId: null, offer, codec: null }))
    relay.answered(sessionId)
  }

  view(relay: Relay, sessionId: string, room = 'a/show'): void {
    this.accept(relay.view({ sessionId, room, sourceId: null, offer: this.offer('recvonly') }))
    relay.answered(sessionId)
  }

  /** A connectivity check, possibly from a forged address. */
  check({ from = this.at, useCandidate = true, names = this.names } = {}): void {
    const username = `${this.remote.ufrag}:${names.ufrag}`
    const request = { transactionId: randomBytes(12), username, password: this.remote.pwd, useCandidate }
    this.#net.send(bindingRequest(request), from)
  }

  /** Sends a check and does the DTLS handshake, from its address. */
  async connect(): Promise<void> {
    if (this.setup === 'passive') await this.shakeHands()
    this.check()
    if (this.setup === 'active') await this.shakeHands()
    await until(() => this.#reader !== null)
  }

  async shakeHands(): Promise<void> {
    const { certPem, privateKey, signatureHash } = identity.certificate
    this.#transport = createTransport((datagram) => this.#net.send(datagram, this.at))
    const options = {
      cert: certPem,
      key: privateKey,
      signatureHash,
      transport: this.#transport,
      srtpProfiles: [GCM, CM],
      extendedMasterSecret: true,
    }
    const dtls = this.setup === 'active' ? new DtlsClient(options) : new DtlsServer(options)
    this.#dtls = dtls
    dtls.onConnect.once(() => this.#agree(dtls))
    dtls.onError.subscribe(() => undefined)
    // It gives up after half a minute without an answer.
    if (dtls instanceof DtlsClient) dtls.connect().catch(() => undefined)
  }

  take(datagram: Buffer, at: Endpoint): void {
    const first = datagram[0] ?? 255
    if (first < 4) this.#takeStun(datagram, at)
    else if (first < 64) this.#transport?.onData(datagram, ['', 0])
    else if ((datagram[1] ?? 0) >= 192 && (datagram[1] ?? 0) < 224) {
      const control = this.#reader?.rtcp(Buffer.from(datagram))
      if (control !== undefined) this.#takeControl(control)
    } else {
      const media = this.#reader?.rtp(Buffer.from(datagram))
      if (media !== undefined) this.media.push(media.packet)
    }
  }

  sendRtcp(plain: Buffer, from = this.at): void {
    if (this.#writer !== null) this.#net.send(this.#writer.rtcp(plain), from)
  }

  /** Sends a frame of `packets` packets. */
  sendFrame(packets: number, isKey: boolean, from = this.at): void {
    const payloads = Array.from({ length: packets }, (_, at) => {
      const payload = Buffer.alloc(FRAGMENT_BYTES, 0x55)
      // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
      payload.set(at > 0 ? [0] : [0x10, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01])
      return payload
    })
    this.sendPayloads(payloads, from)
  }

  /** Sends a frame. */
  sendPayloads(payloads: readonly Buffer[], from = this.at): void {
    const timestamp = Math.floor((this.#net.nowMs * 90) % 2 ** 32)
    for (const [at, payload] of payloads.entries()) {
      const head = { payloadType: PAYLOAD_TYPE, marker: at === payloads.length - 1, index: this.#sent++, timestamp }
      if (this.#writer !== null) this.#net.send(this.#writer.rtp({ ...head, ssrc: this.ssrc }, payload), from)
    }
  }

  /** Sends nothing of its handshake again. */
  close(): void {
    this.#dtls?.close()
    if (this.#dtls !== null) this.#dtls.dtls.flight = PAST_FLIGHTS
  }

  #takeControl(control: Buffer): void {
    this.control.push(control)
    this.asked += parseRtcp(control)?.filter(({ kind }) => kind === 'pli').length ?? 0
  }

  #takeStun(datagram: Buffer, at: Endpoint): void {
    const request = parseBindingRequest(datagram)
    if (request === null || !this.answersChecks || this.deafAt.has(at.port)) return
    this.#net.send(bindingSuccess(request.transactionId, '198.51.100.1', 8081, this.names.pwd), at)
  }

  #agree(dtls: DtlsClient | DtlsServer): void {
    const profile = profileOf(dtls.srtp.srtpProfile)
    if (profile === undefined) return
    const { localKey, localSalt, remoteKey, remoteSalt } = dtls.extractSessionKeys(profile.keyBytes, profile.saltBytes)
    this.#reader = new SrtpReader({ profile, key: remoteKey, salt: remoteSalt })
    this.#writer = new SrtpWriter({ profile, key: localKey, salt: localSalt })
  }
}

/** Whether a datagram is an answer to a check. */
export const isAnswer = (datagram: Buffer): boolean => datagram.readUInt16BE(0) === BINDING_SUCCESS
