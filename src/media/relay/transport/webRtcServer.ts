import type { Random } from '../../../base/random.ts'
import type { AnswerTransport } from '../wire/sdp/answer.ts'
import type { HostAddress } from '../wire/sdp/candidate.ts'
import { Demultiplexer } from './demultiplexer.ts'
import type { CertificateFingerprint, Identity } from './dtls.ts'
import { Handshakes, type HandshakesOptions } from './handshakes.ts'
import { type Credentials, newCredentials } from './iceLite.ts'
import type { NativeBackEnd } from './nativeBackEnd.ts'
import type { Endpoint } from './socket.ts'
import { TransportTable } from './transportTable.ts'
import { WebRtcTransport } from './webRtcTransport.ts'

export interface WebRtcServerOptions extends HandshakesOptions {
  readonly identity: Identity
  readonly random: Random
  /** Our host candidates, the preferred one first. */
  readonly hosts: () => readonly HostAddress[]
  /** The back end in C, where it is used. */
  readonly native?: NativeBackEnd | null
  send(datagram: Uint8Array, to: Endpoint): void
  /** No transport has this address any more. If it is a TCP connection, it can be closed. */
  release(at: Endpoint): void
}

/** The other side, as its offer describes it, or its answer to ours. */
export interface RemoteParameters {
  readonly iceUfrag: string
  readonly icePwd: string
  readonly fingerprints: readonly CertificateFingerprint[]
  /** Ours in DTLS, as the peer leaves it to us. */
  readonly dtlsRole: 'server' | 'client'
  /** Ours of an offer that the peer has answered; absent: new ones. */
  readonly credentials?: Credentials
  /** See `IceLiteOptions`. */
  readonly peerCandidates?: readonly Endpoint[]
}

/** Our side of ICE. */
type IceParameters = Pick<AnswerTransport, 'iceUfrag' | 'icePwd' | 'hosts'>

/** All WebRTC transports of a process. They share one port; each datagram goes to the transport that it belongs to. */
export class WebRtcServer {
  readonly #options: WebRtcServerOptions
  readonly #table: TransportTable<WebRtcTransport>
  readonly #demultiplexer: Demultiplexer

  constructor(options: WebRtcServerOptions) {
    this.#options = options
    this.#table = new TransportTable((at) => options.release(at))
    this.#demultiplexer = new Demultiplexer(this.#table, new Handshakes(options))
  }

  /** Opens a transport for the peer of an offer. Its first check may come as soon as the peer has the answer. */
  open(remote: RemoteParameters, nowMs: number): WebRtcTransport {
    const { fingerprints, dtlsRole, credentials, peerCandidates: candidates } = remote
    const { identity, random, native = null } = this.#options
    const transport = new WebRtcTransport(
      {
        credentials: credentials ?? newCredentials(random),
        remote: { ufrag: remote.iceUfrag, pwd: remote.icePwd },
        candidates,
        identity,
        fingerprints,
        dtlsRole,
        native,
        random,
        send: (datagram, to) => this.#options.send(datagram, to),
        located: (from, isProved) => this.#table.locate(transport, from, isProved),
      },
      nowMs,
    )
    this.#table.name(transport, transport.credentials.ufrag)
    return transport
  }

  /** Our side of a transport, as an answer describes it. */
  describe({ credentials }: WebRtcTransport, transportCc: boolean): AnswerTransport {
    const { identity, random, hosts } = this.#options
    return {
      iceUfrag: credentials.ufrag,
      icePwd: credentials.pwd,
      fingerprint: identity.fingerprint.value,
      sdpId: String(random.bytes(6).readUIntBE(0, 6)),
      hosts: hosts(),
      transportCc,
    }
  }

  /** Restarts ICE of a transport. Returns our new credentials and our candidates. */
  restart(transport: WebRtcTransport, remote: Credentials, nowMs: number): IceParameters {
    const credentials = newCredentials(this.#options.random)
    transport.restart(credentials, remote, nowMs)
    this.#table.name(transport, credentials.ufrag)
    return { iceUfrag: credentials.ufrag, icePwd: credentials.pwd, hosts: this.#options.hosts() }
  }

  /** A datagram arrived. It may be reused after this call. */
  receive(datagram: Buffer, from: Endpoint, nowMs: number): void {
    this.#demultiplexer.receive(datagram, from, nowMs)
  }

  /** The transport that has this address. */
  at(from: Endpoint): WebRtcTransport | undefined {
    return this.#table.at(from)
  }

  /** Closes a transport and gives its addresses back. */
  close(transport: WebRtcTransport): void {
    try {
      transport.close()
    } finally {
      this.#table.remove(transport)
    }
  }
}
