import type { Random } from '../../../base/random.ts'
import { Allowance } from '../../../base/allowance.ts'
import { endpointKeyOf } from './transportTable.ts'
import type { Endpoint } from './socket.ts'
import { isTcp } from './tcp.ts'
import { type BindingSuccess, bindingRequest, isAuthentic } from '../wire/stun.ts'

/** The user name fragments of a check. */
export interface Names {
  readonly local: string
  readonly remote: string
}

export interface PathsOptions {
  readonly random: Random
  /** We are the controlling agent: we nominate the first address that answers (RFC 8445 section 8.1.1). */
  readonly isControlling?: boolean
  send(datagram: Uint8Array, to: Endpoint): void
  /** The peer's password for its user name fragment; undefined: it has none of that name yet. */
  passwordOf(remoteUfrag: string): string | undefined
  /** An address has proved that it receives our packets. */
  proved(at: Endpoint): void
  /** Media goes there from now on. */
  moved(to: Endpoint): void
}

/** Addresses of one peer: it is reached by several while ICE looks for the best. */
const MAX_PATHS = 16
/** A proof older than `FRESH_MS` must be renewed before media moves to its address. After `STALE_MS` it counts no longer. */
const FRESH_MS = 5000
const STALE_MS = 30_000
/** Our checks to an address that does not answer: three times longer after each, while checks arrive from there. */
const FIRST_RETRY_MS = 100
const RETRY_GROWS = 3
const LONGEST_RETRY_MS = 30_000
/** Our checks to all addresses without a proof. A browser has about twenty pairs to try. */
const UNPROVED = { burst: 60, perSecond: 4 }
/** Pending checks to one address. */
const MAX_PENDING = 4
/** Parts of a transaction id: the session that it belongs to, and random bytes. */
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
  pending: readonly { readonly transactionId: Buffer; readonly password: string }[]
}

/**
 * The addresses of one peer. RFC 8445 lets a lite agent send to where a check with USE-CANDIDATE comes from. But an admitted
 * peer knows the keys of its session and can forge any source address, so neither a check nor media proves where it is. What
 * proves it is to repeat a secret that only a receiver at that address can know: the transaction id of our check (like
 * PATH_CHALLENGE in RFC 9000 section 8.2), the cookie of DTLS, or the sequence numbers of TCP. Media goes only to proved
 * addresses.
 */
export class Paths {
  readonly #options: PathsOptions
  /** By address, the most recently heard at the end. */
  readonly #paths = new Map<string, Path>()
  readonly #unproved = new Allowance(UNPROVED)
  #nominated: Path | null = null
  #present: Path | null = null

  constructor(options: PathsOptions) {
    this.#options = options
  }

  /** The address where media goes; null before the first proof. */
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
   * An authentic check arrived. Checks its address in turn if that is due. Returns whether to answer: an address that does not
   * answer our checks gets no more answers than checks.
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

  /** Checks a candidate of the peer if that is due; one that has answered is nominated. */
  seek(at: Endpoint, names: Names, nowMs: number): void {
    const path = this.#paths.get(endpointKeyOf(at)) ?? this.#pathAt(at, names)
    if (this.#present === null || this.#present === path) this.#askInTime(path, nowMs)
  }

  /** The peer's media arrives from there without a check: a NAT gave it another port. Checks that address. */
  strayed(from: Endpoint, nowMs: number): void {
    if (this.#present === null) return
    const path = this.#pathAt(from, this.#present.names)
    this.#nominated = path
    this.#askInTime(path, nowMs)
  }

  /** A packet from `from` proves that its sender receives our packets there. */
  prove(from: Endpoint, nowMs: number): void {
    const path = this.#paths.get(endpointKeyOf(from))
    if (path === undefined) return
    path.provedAtMs = nowMs
    path.retryAtMs = nowMs
    path.retryMs = FIRST_RETRY_MS
    path.pending = []
    this.#options.proved(path.at)
    this.#settle(path)
  }

  /** Returns whether it answers one of our checks, from the address of that check. */
  answered(answer: BindingSuccess, from: Endpoint, nowMs: number): boolean {
    const path = this.#paths.get(endpointKeyOf(from))
    const check = path?.pending.find(({ transactionId }) => transactionId.equals(answer.transactionId))
    if (check === undefined || !isAuthentic(answer, check.password)) return false
    this.prove(from, nowMs)
    return true
  }

  /** Checks the present address again (consent freshness, RFC 7675). */
  askPresent(): void {
    if (this.#present !== null) this.#ask(this.#present)
  }

  /** New passwords arrived: sends the checks that had to wait for them. */
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
    const existing = this.#paths.get(key)
    this.#paths.delete(key)
    if (existing === undefined) this.#makeRoom()
    const path = existing ?? {
      at: from,
      names,
      provedAtMs: Number.NEGATIVE_INFINITY,
      retryAtMs: Number.NEGATIVE_INFINITY,
      retryMs: FIRST_RETRY_MS,
      pending: [],
    }
    path.names = names
    this.#paths.set(key, path)
    return path
  }

  /** Drops a path: one without a proof if there is one, the least recently heard first; never the present path. */
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
    path.pending = [{ transactionId, password }, ...path.pending].slice(0, MAX_PENDING)
    const username = `${remote}:${local}`
    const role = this.#options.isControlling
      ? { controlling: true, useCandidate: path === this.#present }
      : { controlled: true }
    this.#options.send(bindingRequest({ transactionId, username, password, priority: PRIORITY, ...role }), path.at)
  }

  /** Media goes to the first proved address, and then to each that the peer nominates. */
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
