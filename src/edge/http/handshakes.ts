import type { Socket } from 'node:net'
import { ByAddress } from '../../base/byAddress.ts'
import { LateLooks } from '../../base/lateLooks.ts'

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
  readonly #pending = new Map<string, { readonly held: T; readonly timer: NodeJS.Timeout }>()
  /** The keys of these. */
  readonly #crowd = new ByAddress<string>()

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  begin(held: T): void {
    const { socket } = held
    const key = keyOf(socket)
    const [oldest] = this.#tooMany(held.addressKey)
    if (oldest !== undefined) this.#giveWay(oldest)
    this.#limitTime(key, held)
    this.#crowd.add(key, held.addressKey)
    socket.once('close', () => {
      if (this.#take(key, held)) this.counts.failed += 1
    })
  }

  /** The connection below an encrypted socket whose handshake has just ended. */
  end(encrypted: Socket): T | null {
    const key = keyOf(encrypted)
    const held = this.#pending.get(key)?.held
    if (!held || !this.#take(key, held)) return null
    this.counts.done += 1
    return held
  }

  /** Ends all of them. */
  close(): void {
    for (const key of this.#pending.keys()) this.#giveWay(key)
  }

  #giveWay(key: string): void {
    const pending = this.#pending.get(key)
    if (pending) this.#drop(key, pending.held, 'gaveWay')
  }

  /** Those of which one gives way to one more of this address; empty: there is room. */
  #tooMany(addressKey: string): Iterable<string> {
    const { max } = this.#limits
    const peers = this.#crowd.of(addressKey)
    if (addressKey !== '' && peers.size >= max / 2) return peers
    return this.#crowd.size >= max ? this.#crowd : []
  }

  /** A timer that comes late is one of a process that was paused: then the time begins again. */
  #limitTime(key: string, held: T): void {
    const { handshakeMs } = this.#limits
    const looks = new LateLooks(handshakeMs, performance.now())
    const timer = setTimeout(() => {
      if (looks.look(performance.now()) > 0) this.#limitTime(key, held)
      else this.#drop(key, held, 'timedOut')
    }, handshakeMs).unref()
    this.#pending.set(key, { held, timer })
  }

  #drop(key: string, held: T, why: 'timedOut' | 'gaveWay'): void {
    if (this.#take(key, held)) this.counts[why] += 1
    held.socket.destroy()
  }

  #take(key: string, held: T): boolean {
    const pending = this.#pending.get(key)
    if (pending?.held !== held) return false
    clearTimeout(pending.timer)
    this.#crowd.delete(key)
    return this.#pending.delete(key)
  }
}

/** Both ends of a connection: an encrypted socket has those of the socket below. */
const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`
