import { randomBytes } from 'node:crypto'
import { DtlsClient, type Transport } from 'werift'
import { createTransport, type Identity } from '../../src/media/relay/transport/dtls.ts'
import { profileOf } from '../../src/media/relay/srtp/keys.ts'
import { SrtpReader } from '../../src/media/relay/srtp/reader.ts'
import { SrtpWriter } from '../../src/media/relay/srtp/writer.ts'
import { writeReceiverReport } from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { bindingRequest, bindingSuccess, parseBindingRequest } from '../../src/media/relay/wire/stun.ts'
import type { ViewerSide } from './contender.ts'
import type { Sockets } from './sockets.ts'

/**
 * A viewer that costs the machine almost nothing once it is connected. ICE and DTLS are real, and it decrypts the first
 * media packet with the negotiated keys. It only counts the rest, and sends a report once a second.
 */
export class Viewer implements ViewerSide {
  /** Resolves with the first genuine media packet. */
  readonly watching: Promise<void>
  readonly #identity: Identity
  readonly #socket: ReturnType<Sockets['open']>
  readonly #address: string
  readonly #ufrag = randomBytes(4).toString('hex')
  readonly #pwd = randomBytes(16).toString('hex')
  readonly #timers: NodeJS.Timeout[] = []
  #remote: Remote | null = null
  #isControlling = true
  #isReached = false
  #transport: Transport | null = null
  #reader: SrtpReader | null = null
  #writer: SrtpWriter | null = null
  #nowWatching: () => void = () => undefined

  constructor(sockets: Sockets, identity: Identity) {
    this.#identity = identity
    this.#address = sockets.address
    this.#socket = sockets.open((datagram) => this.#take(datagram))
    this.watching = new Promise((resolve) => {
      this.#nowWatching = resolve
    })
  }

  async offer(): Promise<string> {
    return this.#describe({ mid: '0', payloadType: 96, setup: 'active' })
  }

  async accept(answer: string): Promise<void> {
    this.#begin(answer)
  }

  async answer(offer: string): Promise<string> {
    this.#isControlling = false
    this.#begin(offer)
    const payloadType = Number(/a=rtpmap:(\d+) VP8/i.exec(offer)?.[1])
    return this.#describe({ mid: found(offer, /a=mid:(\S+)/), payloadType, setup: 'active' })
  }

  /** The index of its socket. */
  get index(): number {
    return this.#socket.index
  }

  /** The port of the server process that it is at; 0 before the answer. */
  get serverPort(): number {
    return this.#remote?.port ?? 0
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  #describe({ mid, payloadType, setup }: { mid: string; payloadType: number; setup: string }): string {
    const { algorithm, value } = this.#identity.fingerprint
    return [
      'v=0',
      `o=- ${Date.now()} 1 IN IP4 ${this.#address}`,
      's=-',
      't=0 0',
      `a=group:BUNDLE ${mid}`,
      `m=video ${this.#socket.port} UDP/TLS/RTP/SAVPF ${payloadType}`,
      `c=IN IP4 ${this.#address}`,
      `a=mid:${mid}`,
      'a=recvonly',
      'a=rtcp-mux',
      `a=ice-ufrag:${this.#ufrag}`,
      `a=ice-pwd:${this.#pwd}`,
      `a=fingerprint:${algorithm} ${value}`,
      `a=setup:${setup}`,
      `a=rtpmap:${payloadType} VP8/90000`,
      `a=rtcp-fb:${payloadType} nack`,
      `a=rtcp-fb:${payloadType} nack pli`,
      `a=candidate:1 1 UDP 2122260223 ${this.#address} ${this.#socket.port} typ host`,
      'a=end-of-candidates',
      '',
    ].join('\r\n')
  }

  #begin(description: string): void {
    this.#remote = remoteIn(description)
    this.#every(CHECK_MS, () => this.#isReached || this.#check())
    this.#every(KEEP_MS, () => this.#check())
    this.#every(REPORT_MS, () => this.#report())
    this.#check()
  }

  #every(ms: number, act: () => unknown): void {
    this.#timers.push(setInterval(act, ms))
  }

  #check(): void {
    const remote = this.#remote
    if (remote === null) return
    const username = `${remote.ufrag}:${this.#ufrag}`
    const role = this.#isControlling ? { useCandidate: true } : { controlled: true }
    const request = { transactionId: randomBytes(12), username, password: remote.pwd, priority: 1_845_501_695 }
    this.#socket.send(bindingRequest({ ...request, ...role }), remote)
  }

  #take(datagram: Buffer): void {
    const first = datagram[0] ?? 255
    if (first < 4) this.#takeStun(datagram)
    else if (first >= 20 && first < 64) this.#transport?.onData(datagram, ['', 0])
    else if (this.#reader?.rtp(datagram) !== undefined) this.#nowWatching()
  }

  #takeStun(datagram: Buffer): void {
    const request = parseBindingRequest(datagram)
    if (request !== null && this.#remote !== null) {
      const { address, port } = this.#remote
      this.#socket.send(bindingSuccess(request.transactionId, address, port, this.#pwd), this.#remote)
    }
    if (datagram.readUInt16BE(0) !== BINDING_SUCCESS || this.#isReached) return
    this.#isReached = true
    this.#shakeHands()
  }

  #shakeHands(): void {
    const { certPem, privateKey, signatureHash } = this.#identity.certificate
    this.#transport = createTransport((datagram) => this.#remote && this.#socket.send(datagram, this.#remote))
    const dtls = new DtlsClient({
      cert: certPem,
      key: privateKey,
      signatureHash,
      transport: this.#transport,
      srtpProfiles: [GCM, CM],
      extendedMasterSecret: true,
    })
    dtls.onConnect.once(() => this.#agree(dtls))
    dtls.onError.subscribe(() => undefined)
    void dtls.connect()
  }

  #agree(dtls: DtlsClient): void {
    const profile = profileOf(dtls.srtp.srtpProfile)
    if (profile === undefined) return
    agreed.add(profile.name)
    const { localKey, localSalt, remoteKey, remoteSalt } = dtls.extractSessionKeys(profile.keyBytes, profile.saltBytes)
    this.#reader = new SrtpReader({ profile, key: remoteKey, salt: remoteSalt })
    this.#writer = new SrtpWriter({ profile, key: localKey, salt: localSalt })
  }

  #report(): void {
    if (this.#writer === null || this.#remote === null) return
    this.#socket.send(this.#writer.rtcp(writeReceiverReport(OUR_SSRC)), this.#remote)
  }
}

/** The SRTP profiles that viewers and servers negotiated. */
export const agreed = new Set<string>()

const CHECK_MS = 100
const KEEP_MS = 2000
const REPORT_MS = 1000
const OUR_SSRC = 1
const BINDING_SUCCESS = 0x0101
const [GCM, CM] = [7, 1] as const

interface Remote {
  readonly ufrag: string
  readonly pwd: string
  readonly address: string
  readonly port: number
}

function remoteIn(description: string): Remote {
  const [, address = '', port = ''] =
    /a=candidate:\S+ 1 udp \d+ (\d+\.\d+\.\d+\.\d+) (\d+) typ host/i.exec(description) ?? []
  if (address === '') throw new Error('the server gave no candidate for UDP over IPv4')
  const [ufrag, pwd] = [found(description, /a=ice-ufrag:(\S+)/), found(description, /a=ice-pwd:(\S+)/)]
  return { ufrag, pwd, address, port: Number(port) }
}

const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''
