import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, systemClock } from '../../base/clock.ts'
import { type Address, addressKey, parseAddress } from '../../core/access/address.ts'
import { PendingHandshakes } from './handshakes.ts'
import { handleOf } from './socketHandle.ts'
import { ConnectionGroup, HeldConnection, type WaitingRequest } from './heldConnection.ts'
import { unsentBytes } from './unsent.ts'
import type { ViewerAnswer } from './viewerRequest.ts'

export interface ConnectionLimits {
  /** Open connections at a time. */
  readonly max: number
  /** Open connections per address, except for trusted proxies; 0: no limit. */
  readonly maxPerAddress: number
}

/** Of one connection. RFC 9112 section 9.3.2 lets clients send requests in advance, and lets a server close on them. */
const WAITING_MAX = 16
/** Of all connections: each takes a few kilobytes. */
const ALL_WAITING_MAX = 8192

const SETTLED_LOOK_MS = 50

/**
 * Bounds the connections of an HTTP server, so that descriptors are left for everything else. A new connection closes
 * the one that was idle longest, never one with a request under way. A client retries on a new connection when the
 * server closed the old one before its request (RFC 9112 section 9.3.1).
 */
export class HttpConnections {
  readonly counts = { gaveWay: 0, refused: 0, flooded: 0, stalled: 0, unsent: 0 }
  readonly #limits: ConnectionLimits
  readonly #isProxy: (address: Address) => boolean
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly #all = new ConnectionGroup()
  readonly #byAddress = new Map<string, ConnectionGroup>()
  readonly #held = new Map<Duplex, HeldConnection>()
  #waiting = 0
  /** Monotonic milliseconds; null: they stay open after answers. */
  #endedAtMs: number | null = null
  readonly handshakes = new PendingHandshakes<HeldConnection>()

  constructor(
    limits: ConnectionLimits,
    isProxy: (address: Address) => boolean,
    clock: Pick<Clock, 'monotonic' | 'sleep'> = systemClock,
  ) {
    this.#limits = limits
    this.#isProxy = isProxy
    this.#clock = clock
  }

  get size(): number {
    return this.#held.size
  }

  /** True once each answer has to close its connection, because the server stops. */
  get areEnding(): boolean {
    return this.#endedAtMs !== null
  }

  end(): void {
    this.#endedAtMs ??= this.#clock.monotonic()
  }

  /**
   * Resolves when each client that asks at least every `oftenMs` has had its last answer, at the latest `oftenMs` after `end`. Without
   * such clients it resolves at once. A request on a connection that closes meanwhile would fail (RFC 9112 section 9.6).
   */
  async settled(oftenMs: number): Promise<void> {
    const endedAtMs = this.#endedAtMs ?? this.#clock.monotonic()
    const asksOften = ({ restedAtMs }: HeldConnection): boolean => restedAtMs > endedAtMs - oftenMs
    for (;;) {
      const latest = this.#all.latestIdle
      if (latest === null || !asksOften(latest) || this.#clock.monotonic() >= endedAtMs + oftenMs) return
      await this.#clock.sleep(SETTLED_LOOK_MS)
    }
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
    if (held !== undefined) this.#start(held, answer)
  }

  /**
   * Serves a request when the answers before it have left. Node begins all requests of a packet at once, and a packet has
   * room for a thousand of them.
   */
  enter(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void {
    const held = this.#held.get(request.socket)
    if (held === undefined) return
    if (held.answer !== null || held.waiting !== null) return this.#wait(held, { request, response, serve })
    this.#start(held, response)
    serve(request, response)
  }

  /** True: an answer is under way, and the connection closes after it. */
  endsWithAnswer(socket: Duplex): boolean {
    const held = this.#held.get(socket)
    if (held === undefined || held.answer === null) return false
    // An incomplete request gets no answer, so there is none to wait for.
    const { answer, waiting } = held
    if (waiting?.at(-1)?.request.complete === false) waiting.pop()
    held.endsWithAnswer =
      waiting !== null || (answer instanceof ServerResponse && (answer.req.complete || answer.headersSent))
    return held.endsWithAnswer
  }

  /**
   * Closes connections whose clients do not take their answers. Call it every `UNSENT_LOOK_MS`.
   * @param maxBytes of answers that wait for all clients together
   */
  look(maxBytes: number): void {
    const waiting: { readonly held: HeldConnection; readonly bytes: number }[] = []
    for (const held of this.#held.values()) {
      const { socket, answer, progress } = held
      if (answer === null) continue
      if (progress.isStuck(socket, answer)) this.#drop(held, 'stalled')
      else waiting.push({ held, bytes: unsentBytes(socket, answer) })
    }
    let all = waiting.reduce((sum, { bytes }) => sum + bytes, 0)
    if (all <= maxBytes) return
    for (const { held, bytes } of waiting.toSorted((a, b) => b.bytes - a.bytes)) {
      if (all <= maxBytes) return
      all -= bytes
      this.#drop(held, 'unsent')
    }
  }

  #start(held: HeldConnection, answer: ServerResponse | ViewerAnswer): void {
    held.answer = answer
    held.amongAll.leave()
    held.amongPeers.leave()
    answer.on('close', () => this.#end(held))
  }

  #wait(held: HeldConnection, request: WaitingRequest): void {
    const waiting = (held.waiting ??= [])
    waiting.push(request)
    this.#waiting += 1
    handleOf(held.socket)?.readStop()
    if (waiting.length > WAITING_MAX || this.#waiting > ALL_WAITING_MAX) this.#drop(held, 'flooded')
  }

  /** In a turn of its own, so that the requests of other connections come between. */
  #next(held: HeldConnection): void {
    const { waiting, socket } = held
    const next = waiting?.shift()
    if (next === undefined) return
    this.#waiting -= 1
    if (waiting?.length === 0) {
      held.waiting = null
      handleOf(socket)?.readStart()
    }
    this.#start(held, next.response)
    next.serve(next.request, next.response)
  }

  #accept(socket: Socket): HeldConnection | null {
    const address = parseAddress(socket.remoteAddress ?? '')
    const key = address === null || this.#isProxy(address) ? null : addressKey(address)
    const peers = key === null ? null : (this.#byAddress.get(key) ?? new ConnectionGroup())
    const { max, maxPerAddress } = this.#limits
    if (!this.#makeRoom(peers, maxPerAddress) || !this.#makeRoom(this.#all, max)) {
      this.counts.refused += 1
      socket.destroy()
      return null
    }
    const held = new HeldConnection(socket, peers, key ?? '')
    this.#add(held)
    return held
  }

  /** Requests come on the encrypted socket. */
  #encrypt(held: HeldConnection, socket: Socket): void {
    this.#held.delete(held.socket)
    held.socket = socket
    this.#held.set(socket, held)
    socket.on('close', () => this.#remove(held))
  }

  #makeRoom(group: ConnectionGroup | null, max: number): boolean {
    if (group === null || max === 0 || group.size < max) return true
    const longest = group.longestIdle
    if (longest === null) return false
    this.#drop(longest, 'gaveWay')
    return true
  }

  #drop(held: HeldConnection, why: 'gaveWay' | 'flooded' | 'stalled' | 'unsent'): void {
    this.counts[why] += 1
    this.#remove(held)
    held.socket.destroy()
  }

  #add(held: HeldConnection): void {
    const { socket, peers, addressKey: key } = held
    this.#held.set(socket, held)
    if (peers !== null) this.#byAddress.set(key, peers)
    for (const group of [this.#all, peers]) if (group !== null) group.size += 1
    this.#rest(held)
    socket.on('close', () => this.#remove(held))
  }

  #remove(held: HeldConnection): void {
    if (!this.#held.delete(held.socket)) return
    for (const group of [this.#all, held.peers]) if (group !== null) group.size -= 1
    held.amongAll.leave()
    held.amongPeers.leave()
    this.#waiting -= held.waiting?.length ?? 0
    held.waiting = null
    if (held.peers?.size === 0) this.#byAddress.delete(held.addressKey)
  }

  #end(held: HeldConnection): void {
    if (!this.#held.has(held.socket)) return
    held.answer = null
    if (held.waiting !== null) return void setImmediate(() => this.#next(held))
    if (held.endsWithAnswer) held.socket.end()
    this.#rest(held)
  }

  #rest(held: HeldConnection): void {
    held.restedAtMs = this.#clock.monotonic()
    this.#all.enter(held.amongAll)
    held.peers?.enter(held.amongPeers)
  }
}
