import type { Random } from '../../../base/random.ts'
import { type BindingRequest, type BindingSuccess, bindingError, bindingSuccess, isAuthentic } from '../wire/stun.ts'
import { Allowance } from '../../../base/allowance.ts'
import { Paths } from './paths.ts'
import type { Endpoint } from './socket.ts'

/** An ICE user name fragment and its password (RFC 8839 section 5.4). */
export interface Credentials {
  readonly ufrag: string
  readonly pwd: string
}

export interface IceLiteOptions {
  readonly credentials: Credentials
  /** The credentials in the peer's offer. */
  readonly remote: Credentials
  /** The peer's, at most 16: we are the client, and control. Absent: the peer checks ours, and controls. */
  readonly candidates?: readonly Endpoint[] | undefined
  readonly random: Random
  send(datagram: Uint8Array, to: Endpoint): void
  /** The peer claims that it is reached at `from`, or has proved it. */
  located(from: Endpoint, isProved: boolean): void
  /** Media goes to this address from now on. */
  moved(to: Endpoint): void
}

const ROLE_CONFLICT = 487
/** Answers to addresses without a proof, beside those to checks: role conflicts, and the HelloVerifyRequest of DTLS. */
const UNPROVED = { burst: 8, perSecond: 0.5 }

/** New credentials: 48 bits of user name, 128 bits of password. */
export const newCredentials = (random: Random): Credentials => ({
  ufrag: random.bytes(6).toString('hex'),
  pwd: random.bytes(16).toString('hex'),
})

/**
 * The ICE agent of one transport: answers checks, and checks where the peer really is. A lite one (RFC 8445 section 2.5), unless it
 * has candidates of the peer: then it checks those, and nominates the first that answers.
 */
export class IceLiteAgent {
  readonly paths: Paths
  /**
   * Current credentials first, ours and the peer's. Those from before a restart stay valid until the next restart: a browser
   * may use its new ports before it has read our answer, and then goes on with the old credentials.
   */
  #local: readonly [Credentials, ...Credentials[]]
  #remote: readonly [Credentials, ...Credentials[]]
  readonly #options: IceLiteOptions
  readonly #unproved = new Allowance(UNPROVED)

  constructor(options: IceLiteOptions) {
    this.#options = options
    this.#local = [options.credentials]
    this.#remote = [options.remote]
    this.paths = new Paths({
      random: options.random,
      isControlling: options.candidates !== undefined,
      send: (datagram, to) => options.send(datagram, to),
      passwordOf: (remoteUfrag) => this.#remote.find(({ ufrag }) => ufrag === remoteUfrag)?.pwd,
      proved: (at) => options.located(at, true),
      moved: (to) => options.moved(to),
    })
  }

  /** Our current credentials. */
  get credentials(): Credentials {
    return this.#local[0]
  }

  /** Takes new credentials of both sides for an ICE restart (RFC 8445 section 9). */
  restart(credentials: Credentials, remote: Credentials, nowMs: number): void {
    this.#local = [credentials, this.#local[0]]
    this.#remote = [remote, this.#remote[0]]
    this.paths.renewed(nowMs)
  }

  /** A connectivity check with our user name. Only checks that are signed with our password count. */
  receiveCheck(request: BindingRequest, from: Endpoint, nowMs: number): void {
    const credentials = this.#local.find(({ ufrag }) => ufrag === request.localUfrag)
    if (credentials === undefined || !isAuthentic(request, credentials.pwd)) return
    const { transactionId, localUfrag: local, remoteUfrag: remote, useCandidate } = request
    if (request.controlled && this.#options.candidates === undefined) {
      if (!this.mayAnswerUnproved(nowMs)) return
      this.#options.send(bindingError(transactionId, ROLE_CONFLICT, 'Role Conflict', credentials.pwd), from)
      return
    }
    const isAnswered = this.paths.heard(from, { local, remote }, useCandidate, nowMs)
    this.#options.located(from, this.paths.isProved(from))
    if (isAnswered) this.#options.send(bindingSuccess(transactionId, from.address, from.port, credentials.pwd), from)
  }

  /** Call it several times a second until the transport is connected: checks the candidates of the peer, if we have any. */
  seek(nowMs: number): void {
    const names = { local: this.#local[0].ufrag, remote: this.#remote[0].ufrag }
    for (const at of this.#options.candidates ?? []) this.paths.seek(at, names, nowMs)
  }

  /** An answer to one of our checks. Returns whether it shows that the peer is alive at the address where media goes. */
  receiveAnswer(answer: BindingSuccess, from: Endpoint, nowMs: number): boolean {
    return this.paths.answered(answer, from, nowMs) && this.paths.isPresent(from)
  }

  /** Whether one more small answer may go to an address without a proof. Counts it. */
  mayAnswerUnproved(nowMs: number): boolean {
    return this.#unproved.take(nowMs)
  }
}
