import type { Random } from '../../../base/random.ts'
import { Allowance } from './allowance.ts'
import { endpointKeyOf } from './transportTable.ts'
import type { Endpoint } from './socket.ts'
import { isTcp } from './tcp.ts'
import { type BindingSuccess, bindingRequest, isAuthentic } from '../wire/stun.ts'

/** User name fragments of ICE, as a check of the peer names them. */
export interface Names {
  /** Ours. */
  readonly local: string
  readonly remote: string
}

export interface PathsOptions {
  readonly random: Random
  send(datagram: Uint8Array, to: Endpoint): void
  /** The peer's password for this user name fragment of it; undefined: not known, or not yet. */
  passwordOf(remoteUfrag: string): string | undefined
  /** An address has shown that it hears us. */
  proved(at: Endpoint): void
  /** Media goes there from now on. */
  moved(to: Endpoint): void
}

/** Addresses of one peer that count: it may be reached by several while ICE looks for the best. */
const MAX_PATHS = 16
/** A proof that is older than this must be renewed before media moves; and one that is older than that says nothing any more. */
const FRESH_MS = 5000
const STALE_MS = 30_000
/** An address that answers nothing is asked so often, each time three times as long after the last, while checks come from there. */
const FIRST_RETRY_MS = 100
const RETRY_GROWS = 3
const LONGEST_RETRY_MS = 30_000
/** Checks of ours to addresses that never proved anything, whatever their number. A browser has some twenty pairs to try. */
const UNPROVED = { burst: 60, perSecond: 4 }
/** Checks to one address that may still be answered. */
const MAX_ASKED = 4
/** Of the transaction id: the session that it belongs to, and what nobody can guess. */
const TAG_BYTES = 6
const SECRET_BYTES = 6
/** Of a host candidate (RFC 8445 section 5.1.2.1). */
const PRIORITY = 0x7e0000ff

interface Path {
  readonly at: Endpoint
  names: Names
  provedAtMs: number
  retryAtMs: number
  retryMs: number
  asked: readonly { readonly transactionId: Buffer; readonly password: string }[]
}

/**
 * The addresses at which one peer may be reached. RFC 8445 lets a lite agent send where a check with USE-CANDIDATE says; but
 * whoever is let in knows all keys of its own session, and may write any source into its packets, so that neither a check
 * nor anything else it seals shows where it is. What does is to repeat something that nobody can know who did not receive
 * it there: the transaction id of a check of ours (as PATH_CHALLENGE in RFC 9000 section 8.2), the cookie of DTLS, or
 * the sequence numbers of TCP. Media goes to addresses that did, and to no others.
 */
export class Paths {
  readonly #options: PathsOptions
  /** By address, the one that was heard last at the end. */
  readonly #paths = new Map<string, Path>()
  readonly #unproved = new Allowance(UNPROVED)
  #nominated: Path | null = null
  #present: Path | null = null

  constructor(options: PathsOptions) {
    this.#options = options
  }

  /** Where media goes; null before the first proof. */
  get present(): Endpoint | null {
    return this.#present?.at ?? null
  }

  isPresent(from: Endpoint): boolean {
    return this.#present !== null && isSame(this.#present.at, from)
  }

  isProved(from: Endpoint): boolean {
    return (this.#paths.get(endpointKeyOf(from))?.provedAtMs ?? Number.NEGATIVE_INFINITY) > Number.NEGATIVE_INFINITY
  }

  /**
   * A genuine check came. Asks its address back where that is due. Says whether to answer: an address that does not answer
   * us is not answered more often than it is asked.
   */
  heard(from: Endpoint, names: Names, isNominated: boolean, nowMs: number): boolean {
    const path = this.#pathAt(from, names)
    if (isNominated) this.#nominated = path
    if (isTcp(from)) this.prove(from, nowMs)
    const ageMs = nowMs - path.provedAtMs
    if (ageMs <= FRESH_MS) {
      this.#settle(path)
      return true
    }
    return this.#askInTime(path, nowMs) || path === this.#present || ageMs <= STALE_MS
  }

  /** The peer's media comes from there, and no check yet: a router gave it another port. Asks whether it hears us there. */
  strayed(from: Endpoint, nowMs: number): void {
    if (this.#present === null) return
    const path = this.#pathAt(from, this.#present.names)
    this.#nominated = path
    this.#askInTime(path, nowMs)
  }

  /** Something came from `from` that only who hears us there can have sent. */
  prove(from: Endpoint, nowMs: number): void {
    const path = this.#paths.get(endpointKeyOf(from))
    if (path === undefined) return
    path.provedAtMs = nowMs
    path.retryAtMs = nowMs
    path.retryMs = FIRST_RETRY_MS
    path.asked = []
    this.#options.proved(path.at)
    this.#settle(path)
  }

  /** Whether it answers a check of ours, from where that was sent to. */
  answered(answer: BindingSuccess, from: Endpoint, nowMs: number): boolean {
    const path = this.#paths.get(endpointKeyOf(from))
    const asked = path?.asked.find(({ transactionId }) => transactionId.equals(answer.transactionId))
    if (asked === undefined || !isAuthentic(answer, asked.password)) return false
    this.prove(from, nowMs)
    return true
  }

  /** Asks the present address whether it still hears us (RFC 7675). */
  askPresent(): void {
    if (this.#present !== null) this.#ask(this.#present)
  }

  /** Passwords came: what could not be asked without them is asked now. */
  renewed(nowMs: number): void {
    for (const path of this.#paths.values()) {
      if (nowMs - path.provedAtMs <= FRESH_MS) continue
      path.retryAtMs = nowMs
      path.retryMs = FIRST_RETRY_MS
      this.#askInTime(path, nowMs)
    }
  }

  #pathAt(from: Endpoint, names: Names): Path {
    const key = endpointKeyOf(from)
    const known = this.#paths.get(key)
    this.#paths.delete(key)
    if (known === undefined) this.#makeRoom()
    const path = known ?? {
      at: from,
      names,
      provedAtMs: Number.NEGATIVE_INFINITY,
      retryAtMs: Number.NEGATIVE_INFINITY,
      retryMs: FIRST_RETRY_MS,
      asked: [],
    }
    path.names = names
    this.#paths.set(key, path)
    return path
  }

  /** Those that never proved anything go first, the one that was not heard for longest; never the present one. */
  #makeRoom(): void {
    if (this.#paths.size < MAX_PATHS) return
    const others = [...this.#paths].filter(([, path]) => path !== this.#present)
    const [key] = others.find(([, { at }]) => !this.isProved(at)) ?? others[0] ?? []
    if (key !== undefined) this.#paths.delete(key)
  }

  #askInTime(path: Path, nowMs: number): boolean {
    if (nowMs < path.retryAtMs) return false
    if (!this.isProved(path.at) && !this.#unproved.take(nowMs)) return false
    path.retryAtMs = nowMs + path.retryMs
    path.retryMs = Math.min(path.retryMs * RETRY_GROWS, LONGEST_RETRY_MS)
    this.#ask(path)
    return true
  }

  #ask(path: Path): void {
    const { local, remote } = path.names
    const password = this.#options.passwordOf(remote)
    if (password === undefined) return
    const transactionId = Buffer.concat([tagOf(local), this.#options.random.bytes(SECRET_BYTES)])
    path.asked = [{ transactionId, password }, ...path.asked].slice(0, MAX_ASKED)
    const username = `${remote}:${local}`
    this.#options.send(
      bindingRequest({ transactionId, username, password, priority: PRIORITY, controlled: true }),
      path.at,
    )
  }

  /** The first address that is proved, and from then on each that the peer nominates. */
  #settle(path: Path): void {
    const isWanted = this.#present === null || path === this.#nominated
    if (!isWanted || path === this.#present) return
    this.#present = path
    this.#options.moved(path.at)
  }
}

/** The first bytes of the transaction ids of a session with this user name fragment. */
const tagOf = (localUfrag: string): Buffer => Buffer.from(localUfrag, 'hex')

/** Our user name fragment that a transaction id of ours belongs to. */
export const ufragOf = (transactionId: Buffer): string => transactionId.toString('hex', 0, TAG_BYTES)

const isSame = (a: Endpoint, b: Endpoint): boolean =>
  a === b || (a.port === b.port && a.via === b.via && a.address === b.address)
