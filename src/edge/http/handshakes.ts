import type { Socket } from 'node:net'
import { ByAddress } from '../../base/byAddress.ts'
import { systemClock } from '../../base/clock.ts'
import { watchedFor } from '../../base/lateLooks.ts'
import { networkKey } from '../../core/access/address.ts'

export interface HandshakeLimits {
  /** From the connection on. Node's own limit begins again with each byte. */
  readonly handshakeMs: number
  /**
   * With more at a time, the oldest gives way: real clients take a few round trips. An address has half of them, and then gives way to
   * itself.
   */
  readonly max: number
}

/** A connection before its handshake. */
interface Beginning {
  readonly socket: Socket
  /** Empty: many clients may share the address. */
  readonly addressKey: string
}

const LIMITS: HandshakeLimits = { handshakeMs: 10_000, max: 1024 }

/**
 * Connections before the end of their TLS handshake. A handshake costs more than a request, and a client that has not
 * finished one has shown nothing, so they have a limit of their own.
 */
export class PendingHandshakes<T extends Beginning> {
  readonly #limits: HandshakeLimits
  readonly counts = { done: 0, failed: 0, timedOut: 0, gaveWay: 0 }
  readonly #pending = new Map<string, { readonly connection: T; readonly timer: AbortController }>()
  /** The keys of these. */
  readonly #byAddress = new ByAddress<string>(networkKey)

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  begin(connection: T): void {
    const { socket } = connection
    const key = keyOf(socket)
    const [oldest] = this.#tooMany(connection.addressKey)
    if (oldest !== undefined) this.#giveWay(oldest)
    this.#limitTime(key, connection)
    this.#byAddress.add(key, connection.addressKey)
    socket.once('close', () => {
      if (this.#take(key, connection)) this.counts.failed += 1
    })
  }

  /** The connection below an encrypted socket whose handshake has just ended. */
  end(encrypted: Socket): T | null {
    const key = keyOf(encrypted)
    const connection = this.#pending.get(key)?.connection
    if (!connection || !this.#take(key, connection)) return null
    this.counts.done += 1
    return connection
  }

  /** Ends all of them. */
  close(): void {
    for (const key of this.#pending.keys()) this.#giveWay(key)
  }

  #giveWay(key: string): void {
    const pending = this.#pending.get(key)
    if (pending) this.#drop(key, pending.connection, 'gaveWay')
  }

  /** Those of which one gives way to one more of this address; empty: there is room. */
  #tooMany(addressKey: string): Iterable<string> {
    const { max } = this.#limits
    const ofAddress = addressKey === '' ? Number.POSITIVE_INFINITY : max / 2
    return this.#byAddress.crowdFor(addressKey, { ofAddress, ofAll: max }) ?? []
  }

  #limitTime(key: string, connection: T): void {
    const timer = new AbortController()
    watchedFor(systemClock, this.#limits.handshakeMs, timer.signal).then(
      () => this.#drop(key, connection, 'timedOut'),
      () => undefined,
    )
    this.#pending.set(key, { connection, timer })
  }

  #drop(key: string, connection: T, why: 'timedOut' | 'gaveWay'): void {
    if (this.#take(key, connection)) this.counts[why] += 1
    connection.socket.destroy()
  }

  #take(key: string, connection: T): boolean {
    const pending = this.#pending.get(key)
    if (pending?.connection !== connection) return false
    pending.timer.abort()
    this.#byAddress.delete(key)
    return this.#pending.delete(key)
  }
}

/** Both ends of a connection: an encrypted socket has those of the socket below. */
const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`
