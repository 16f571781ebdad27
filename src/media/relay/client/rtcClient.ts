import { isIP, isIPv4, isIPv6 } from 'node:net'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type { Random } from '../../../base/random.ts'
import { repeat, type Repetition } from '../../../base/repeat.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import type { Said } from '../../../core/notices.ts'
import { SLUICE_FAILED } from '../../pulling.ts'
import { createIdentity, type Identity } from '../transport/dtls.ts'
import { type Credentials, newCredentials } from '../transport/iceLite.ts'
import { type Endpoint, openUdp, type UdpPort } from '../transport/socket.ts'
import type { TransportEvents } from '../transport/transportEvents.ts'
import { WebRtcServer } from '../transport/webRtcServer.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import type { HostAddress } from '../wire/sdp/candidate.ts'
import { buildOffer, type OfferLine } from '../wire/sdp/clientOffer.ts'
import type { SdpOffer } from '../wire/sdp/offer.ts'

/** As often as a relay works. */
const TICK_MS = 20
/** As many as one transport checks. */
const MAX_CANDIDATES = 16
/** Media that the other side sends when it has finished the handshake, and we have not: a keyframe and what comes after it. */
const MAX_EARLY = 512
/** RFC 7983. */
const FIRST_OF_MEDIA = 128
/** The system chooses the address that a packet leaves from. */
const ANY = ['0.0.0.0', '::'] as const

export interface RtcClientOptions {
  readonly clock: Clock
  /** See `steadyNow`. */
  readonly now: () => number
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Ours on the connection to the other server. */
  readonly localAddress: string
  /** Whether media may be exchanged with this address. */
  readonly allows: (address: string, port: number) => boolean
  /** Called every `TICK_MS`. */
  readonly pace: (nowMs: number) => void
  /** It is broken, and closed: a sentence for people. Once at most. */
  readonly failed: (why: Said) => void
}

/** Milliseconds since 1970 that never go back. */
export function steadyNow(clock: Clock): () => number {
  const originMs = clock.now() - clock.monotonic()
  return () => originMs + clock.monotonic()
}

/** Made with the first use. All connections of this process have it. */
let identity: Promise<Identity> | null = null

/** One that could not be made is made again with the next use. */
function identityOfProcess(): Promise<Identity> {
  identity ??= createIdentity().catch((error: unknown) => {
    identity = null
    throw error
  })
  return identity
}

/**
 * The client of one WebRTC session at another server: makes the offer, and connects to what the answer names. It takes and sends
 * packets at the addresses of the answer that are allowed, and at no others.
 */
export class RtcClient {
  readonly #options: RtcClientOptions
  readonly #credentials: Credentials
  readonly #server: WebRtcServer
  readonly #identity: Identity
  /** By `Endpoint.via`: of IPv4, of IPv6. Null where this machine has none. */
  readonly #ports: (UdpPort | null)[] = []
  #addresses: ReadonlySet<string> = new Set()
  #transport: WebRtcTransport | null = null
  #ticking: Repetition | null = null
  #early: { readonly datagram: Buffer; readonly from: Endpoint }[] = []
  #isClosed = false

  private constructor(options: RtcClientOptions, ownIdentity: Identity) {
    const { random, now } = options
    this.#options = options
    this.#identity = ownIdentity
    this.#credentials = newCredentials(random)
    this.#server = new WebRtcServer({
      identity: ownIdentity,
      random,
      now,
      later: (work) => void setImmediate(() => this.#guarded(work)),
      hosts: () => this.#hosts(),
      send: (datagram, to) => this.#ports[to.via]?.send(datagram, { ...to, via: 0 }),
      release: () => undefined,
    })
  }

  /** @throws the error of a socket */
  static async open(options: RtcClientOptions): Promise<RtcClient> {
    const client = new RtcClient(options, await identityOfProcess())
    // In turn: without IPv4 nothing else may be open.
    for (const [via, host] of ANY.entries()) client.#ports.push(await client.#bind(host, via))
    return client
  }

  offer(lines: readonly OfferLine[]): string {
    const { random } = this.#options
    const { ufrag: iceUfrag, pwd: icePwd } = this.#credentials
    const fingerprint = this.#identity.fingerprint.value
    const sdpId = String(random.bytes(6).readUIntBE(0, 6))
    return buildOffer({ iceUfrag, icePwd, fingerprint, sdpId, hosts: this.#hosts(), transportCc: true }, lines)
  }

  /**
   * Connects to the other side, as its answer describes it. Reports to the events of `use`, which gets the transport first. The error
   * is a predicate after the name of the answer.
   */
  connect(answer: SdpOffer, use: (transport: WebRtcTransport) => TransportEvents): Result<null, string> {
    const peerCandidates = this.#candidatesOf(answer)
    if (!peerCandidates.ok) return peerCandidates
    this.#addresses = new Set(peerCandidates.value.map(({ address }) => address))
    const remote = { ...answer, credentials: this.#credentials, peerCandidates: peerCandidates.value }
    const transport = this.#server.open(remote, this.#options.now())
    transport.listen(this.#withEarly(use(transport)))
    this.#transport = transport
    this.#ticking = repeat({ ...this.#options, name: 'look after a WebRTC client', everyMs: TICK_MS }, async () =>
      this.#guarded(() => this.#tick(transport)),
    )
    return ok(null)
  }

  /** Says goodbye and closes the sockets. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#transport !== null) this.#server.close(this.#transport)
    void this.#ticking?.stop()
    for (const port of this.#ports) void port?.close()
  }

  async #bind(host: string, via: number): Promise<UdpPort | null> {
    try {
      const { random } = this.#options
      return await openUdp({ host, port: 0, random }, (datagram, { address, port }) =>
        this.#receive(datagram, { address, port, via }),
      )
    } catch (error) {
      // A machine may be without IPv6.
      if (via === 0) throw error
      return null
    }
  }

  /** Others of our network reach us there; a server elsewhere answers where our checks come from. */
  #hosts(): HostAddress[] {
    const { localAddress: address } = this.#options
    const port = this.#ports[isIPv4(address) ? 0 : 1]?.port
    return port === undefined || isIP(address) === 0 ? [] : [{ transport: 'udp', address, port }]
  }

  /** Names are not looked up: only the address of the server itself was one, and it was checked. */
  #candidatesOf({ media }: SdpOffer): Result<readonly Endpoint[], string> {
    const named = media
      .flatMap(({ candidates }) => candidates)
      .filter(({ address, port }) => isIP(address) !== 0 && port > 0)
      .toSorted((a, b) => b.priority - a.priority)
      .map(({ address, port }) => ({ address: plain(address), port, via: isIPv6(address) ? 1 : 0 }))
    if (named.length === 0) return err('names no address for media over UDP')
    const allowed = named.filter(({ address, port }) => this.#options.allows(address, port))
    if (allowed.length === 0) return err(`leads media to addresses that are not allowed: ${listed(named)}`)
    const reachable = allowed.filter(({ via }) => this.#ports[via] !== null)
    return reachable.length === 0 ? err('names addresses of IPv6 alone') : ok(reachable.slice(0, MAX_CANDIDATES))
  }

  #receive(datagram: Buffer, from: Endpoint): void {
    if (!this.#addresses.has(from.address)) return
    const isEarly = this.#transport?.isConnected === false && (datagram[0] ?? 0) >= FIRST_OF_MEDIA
    if (!isEarly) this.#guarded(() => this.#server.receive(datagram, from, this.#options.now()))
    else if (this.#early.length < MAX_EARLY) this.#early.push({ datagram: Buffer.from(datagram), from })
  }

  /** The library of DTLS would swallow an error of ours. */
  #withEarly(events: TransportEvents): TransportEvents {
    const connected = (): void => {
      events.connected()
      for (const { datagram, from } of this.#early.splice(0)) this.#server.receive(datagram, from, this.#options.now())
    }
    return { ...events, connected: () => this.#guarded(connected) }
  }

  #tick(transport: WebRtcTransport): void {
    const { now, pace } = this.#options
    transport.tick(now())
    pace(now())
  }

  /** A fault of ours ends this session and no other. */
  #guarded(work: () => void): void {
    if (this.#isClosed) return
    try {
      work()
    } catch (error) {
      this.#options.log.error({ err: error }, 'a WebRTC client failed')
      this.close()
      this.#options.failed(SLUICE_FAILED)
    }
  }
}

/** Those of a machine with many networks would fill a page. */
const LISTED_MAX = 3

function listed(endpoints: readonly Endpoint[]): string {
  const addresses = [...new Set(endpoints.map(({ address }) => address))]
  const [shown, more] = [addresses.slice(0, LISTED_MAX), addresses.length - LISTED_MAX]
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** As sockets write it. */
const plain = (address: string): string =>
  isIPv6(address) ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address
