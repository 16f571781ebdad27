import type { Endpoint } from './socket.ts'

/** Work of one turn of the event loop: after that media is read again. One datagram can cost a third of it. */
const TURN_MS = 5
/** Datagrams of all peers together: about two seconds of work. A peer sends again what found no room. */
const WAITING_MAX = 1024
/** Of one peer: two flights of a browser with its certificate. */
const WAITING_OF_PEER_MAX = 16

/** Who takes datagrams of a handshake. */
interface Peer {
  receiveDtls(datagram: Buffer, from: Endpoint, nowMs: number): void
}

export interface HandshakesOptions {
  /** Milliseconds since 1970 on a clock that never goes back. */
  readonly now: () => number
  /** Calls `work` in a turn of the event loop of its own, after what the sockets have was read. */
  readonly later: (work: () => void) => void
}

/**
 * The datagrams of handshakes, in the order in which they came. One costs as much as sending a hundred packets of media, so with
 * hundreds of viewers that join at once, media would wait behind them. Here they wait instead, a turn's work at a time.
 */
export class Handshakes {
  readonly #options: HandshakesOptions
  readonly #counts = new Map<Peer, number>()
  #waiting: { readonly peer: Peer; readonly datagram: Buffer; readonly from: Endpoint }[] = []

  constructor(options: HandshakesOptions) {
    this.#options = options
  }

  /** Keeps `datagram`, which must not be used again elsewhere. Drops it when there is no room. */
  put(peer: Peer, datagram: Buffer, from: Endpoint): void {
    const count = this.#counts.get(peer) ?? 0
    if (this.#waiting.length >= WAITING_MAX || count >= WAITING_OF_PEER_MAX) return
    this.#counts.set(peer, count + 1)
    if (this.#waiting.push({ peer, datagram, from }) === 1) this.#options.later(() => this.#work())
  }

  #work(): void {
    const { now, later } = this.#options
    const untilMs = now() + TURN_MS
    let done = 0
    for (const { peer, datagram, from } of this.#waiting) {
      done += 1
      this.#counted(peer)
      peer.receiveDtls(datagram, from, now())
      if (now() >= untilMs) break
    }
    this.#waiting = this.#waiting.slice(done)
    if (this.#waiting.length > 0) later(() => this.#work())
  }

  #counted(peer: Peer): void {
    const left = (this.#counts.get(peer) ?? 1) - 1
    if (left > 0) this.#counts.set(peer, left)
    else this.#counts.delete(peer)
  }
}
