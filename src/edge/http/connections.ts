import { type Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Address, addressKey, parseAddress } from '../../core/access/address.ts'
import { PendingHandshakes } from './handshakes.ts'
import type { ViewerAnswer } from './viewerRequest.ts'

export interface ConnectionLimits {
  /** Open connections at a time. */
  readonly max: number
  /** Open connections per address, except for trusted proxies; 0: no limit. */
  readonly maxPerAddress: number
}

/** A connection and its current request. */
class Held {
  /** With TLS, the one below until the handshake has ended. */
  socket: Socket
  /** Connections from the same address; null: this one comes from a trusted proxy. */
  readonly peers: Crowd | null
  readonly addressKey: string
  readonly amongAll = new Place(this)
  readonly amongPeers = new Place(this)
  /** Requests without a complete answer. */
  underWay = 0
  /** The latest request that has no complete answer. */
  response: ServerResponse | null = null
  endsWithAnswer = false

  constructor(socket: Socket, peers: Crowd | null, addressKey: string) {
    this.socket = socket
    this.peers = peers
    this.addressKey = addressKey
  }
}

/** A place in a ring of idle connections. Alone, it is its own neighbour. */
class Place {
  readonly held: Held | null
  #before: Place = this
  #after: Place = this

  constructor(held: Held | null) {
    this.held = held
  }

  get after(): Place {
    return this.#after
  }

  /** Moves to the place before `other`. */
  enter(other: Place): void {
    this.leave()
    this.#before = other.#before
    this.#after = other
    this.#before.#after = this
    other.#before = this
  }

  leave(): void {
    this.#before.#after = this.#after
    this.#after.#before = this.#before
    this.#before = this
    this.#after = this
  }
}

/**
 * Connections that share a limit. The idle ones form a ring, by when they became idle: every request leaves and enters
 * it, and a ring costs a fraction of an ordered set.
 */
class Crowd {
  /** Stands between the one that was idle longest and the latest. */
  readonly #idle = new Place(null)
  size = 0

  get longestIdle(): Held | null {
    return this.#idle.after.held
  }

  enter(place: Place): void {
    place.enter(this.#idle)
  }
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
  readonly handshakes = new PendingHandshakes<Held>()

  constructor(limits: ConnectionLimits, isProxy: (address: Address) => boolean) {
    this.#limits = limits
    this.#isProxy = isProxy
  }

  get size(): number {
    return this.#held.size
  }

  attach(server: Server): void {
    server.on('connection', (socket: Socket) => void this.#accept(socket))
  }

  /** A connection counts before its handshake. */
  attachTls(server: TlsServer): void {
    server.on('connection', (socket: Socket) => {
      const held = this.#accept(socket)
      if (held) this.handshakes.begin(held)
    })
    server.on('secureConnection', (socket) => {
      const held = this.handshakes.end(socket)
      if (held) this.#encrypt(held, socket)
      else socket.destroy()
    })
  }

  /** Marks a connection as busy with a request. */
  begin(socket: Socket, answer: ServerResponse | ViewerAnswer): void {
    const held = this.#held.get(socket)
    if (held === undefined) return
    held.underWay += 1
    held.response = answer instanceof ServerResponse ? answer : null
    held.amongAll.leave()
    held.amongPeers.leave()
    answer.on('close', () => this.#end(held))
  }

  /** True: an answer is under way, and the connection closes after it. */
  endsWithAnswer(socket: Duplex): boolean {
    const held = this.#held.get(socket)
    if (held === undefined || held.underWay === 0) return false
    const { response } = held
    // An incomplete request gets no answer, so there is none to wait for.
    held.endsWithAnswer = response?.req.complete === true || response?.headersSent === true
    return held.endsWithAnswer
  }

  #accept(socket: Socket): Held | null {
    const address = parseAddress(socket.remoteAddress ?? '')
    const key = address === null || this.#isProxy(address) ? null : addressKey(address)
    const peers = key === null ? null : (this.#byAddress.get(key) ?? new Crowd())
    const { max, maxPerAddress } = this.#limits
    if (!this.#makeRoom(peers, maxPerAddress) || !this.#makeRoom(this.#all, max)) {
      this.counts.refused += 1
      socket.destroy()
      return null
    }
    const held = new Held(socket, peers, key ?? '')
    this.#add(held)
    return held
  }

  /** Requests come on the encrypted socket. */
  #encrypt(held: Held, socket: Socket): void {
    this.#held.delete(held.socket)
    held.socket = socket
    this.#held.set(socket, held)
    socket.on('close', () => this.#remove(held))
  }

  #makeRoom(crowd: Crowd | null, max: number): boolean {
    if (crowd === null || max === 0 || crowd.size < max) return true
    const longest = crowd.longestIdle
    if (longest === null) return false
    this.counts.gaveWay += 1
    this.#remove(longest)
    longest.socket.destroy()
    return true
  }

  #add(held: Held): void {
    const { socket, peers, addressKey: key } = held
    this.#held.set(socket, held)
    if (peers !== null) this.#byAddress.set(key, peers)
    for (const crowd of [this.#all, peers]) if (crowd !== null) crowd.size += 1
    this.#rest(held)
    socket.on('close', () => this.#remove(held))
  }

  #remove(held: Held): void {
    if (!this.#held.delete(held.socket)) return
    for (const crowd of [this.#all, held.peers]) if (crowd !== null) crowd.size -= 1
    held.amongAll.leave()
    held.amongPeers.leave()
    if (held.peers?.size === 0) this.#byAddress.delete(held.addressKey)
  }

  #end(held: Held): void {
    held.underWay -= 1
    if (held.underWay > 0 || !this.#held.has(held.socket)) return
    held.response = null
    if (held.endsWithAnswer) held.socket.end()
    this.#rest(held)
  }

  #rest(held: Held): void {
    this.#all.enter(held.amongAll)
    held.peers?.enter(held.amongPeers)
  }
}
