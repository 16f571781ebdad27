import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Address, addressKey, parseAddress } from '../../core/access/address.ts'

export interface ConnectionLimits {
  /** Open connections at a time. */
  readonly max: number
  /** Open connections per address, except for trusted proxies; 0: no limit. */
  readonly maxPerAddress: number
}

/** A connection and its current request. */
interface Held {
  readonly socket: Socket
  /** Connections from the same address; null: this one comes from a trusted proxy. */
  readonly peers: Crowd | null
  readonly addressKey: string
  /** Requests without a complete answer. */
  underWay: number
  latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | null
  endsWithAnswer: boolean
}

/** Connections that share a limit. Idle ones are ordered by when they became idle. */
class Crowd {
  readonly idle = new Set<Held>()
  size = 0
}

/**
 * Bounds the connections of an HTTP server, so that descriptors are left for everything else. A new connection closes
 * the one that was idle longest, never one with a request under way. A client retries on a new connection when the
 * server closed the old one before its request (RFC 9112 section 9.3.1).
 */
export class HttpConnections {
  readonly counts = { gaveWay: 0, refused: 0 }
  readonly #limits: ConnectionLimits
  readonly #isProxy: (address: Address) => boolean
  readonly #all = new Crowd()
  readonly #byAddress = new Map<string, Crowd>()
  readonly #held = new Map<Duplex, Held>()

  constructor(limits: ConnectionLimits, isProxy: (address: Address) => boolean) {
    this.#limits = limits
    this.#isProxy = isProxy
  }

  get size(): number {
    return this.#held.size
  }

  attach(server: Server): void {
    server.on('connection', (socket: Socket) => this.#accept(socket))
  }

  /** Marks a connection as busy with a request. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const held = this.#held.get(request.socket)
    if (held === undefined) return
    held.underWay += 1
    held.latest = { request, response }
    this.#all.idle.delete(held)
    held.peers?.idle.delete(held)
    response.on('close', () => this.#end(held))
  }

  /** True: an answer is under way, and the connection closes after it. */
  endsWithAnswer(socket: Duplex): boolean {
    const held = this.#held.get(socket)
    if (held === undefined || held.underWay === 0) return false
    const { request, response } = held.latest ?? {}
    // An incomplete request gets no answer, so there is none to wait for.
    held.endsWithAnswer = request?.complete === true || response?.headersSent === true
    return held.endsWithAnswer
  }

  #accept(socket: Socket): void {
    const address = parseAddress(socket.remoteAddress ?? '')
    const key = address === null || this.#isProxy(address) ? null : addressKey(address)
    const peers = key === null ? null : (this.#byAddress.get(key) ?? new Crowd())
    const { max, maxPerAddress } = this.#limits
    if (!this.#makeRoom(peers, maxPerAddress) || !this.#makeRoom(this.#all, max)) {
      this.counts.refused += 1
      socket.destroy()
      return
    }
    this.#add({ socket, peers, addressKey: key ?? '', underWay: 0, latest: null, endsWithAnswer: false })
  }

  #makeRoom(crowd: Crowd | null, max: number): boolean {
    if (crowd === null || max === 0 || crowd.size < max) return true
    const [longest] = crowd.idle
    if (longest === undefined) return false
    this.counts.gaveWay += 1
    this.#remove(longest)
    longest.socket.destroy()
    return true
  }

  #add(held: Held): void {
    const { socket, peers, addressKey: key } = held
    this.#held.set(socket, held)
    if (peers !== null) this.#byAddress.set(key, peers)
    for (const crowd of [this.#all, peers]) {
      if (crowd === null) continue
      crowd.size += 1
      crowd.idle.add(held)
    }
    socket.on('close', () => this.#remove(held))
  }

  #remove(held: Held): void {
    if (!this.#held.delete(held.socket)) return
    for (const crowd of [this.#all, held.peers]) {
      if (crowd === null) continue
      crowd.size -= 1
      crowd.idle.delete(held)
    }
    if (held.peers?.size === 0) this.#byAddress.delete(held.addressKey)
  }

  #end(held: Held): void {
    held.underWay -= 1
    if (held.underWay > 0 || !this.#held.has(held.socket)) return
    held.latest = null
    if (held.endsWithAnswer) held.socket.end()
    this.#all.idle.add(held)
    held.peers?.idle.add(held)
  }
}
