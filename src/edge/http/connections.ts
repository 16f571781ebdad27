import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Clock, systemClock } from '../../base/clock.ts'
import { halfway } from '../../base/numbers.ts'
import { type Address, addressKey, networkKey, parseAddress } from '../../core/access/address.ts'
import { PendingHandshakes } from './handshakes.ts'
import { handleOf } from './socketHandle.ts'
import { ConnectionGroup, endSoon, HttpConnection, mayGoOn, type WaitingRequest } from './httpConnection.ts'
import { unsentBytes } from './unsent.ts'
import type { ViewerAnswer } from './viewerRequest.ts'

export interface ConnectionLimits {
  /** Open connections at a time. */
  readonly max: number
  /**
   * Open connections per address, except for trusted proxies; 0: no limit. The network around an IPv6 address may have as many, and
   * half of what others leave.
   */
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
  readonly counts = { gaveWay: 0, refused: 0, flooded: 0, stalled: 0, unsent: 0, revoked: 0 }
  readonly #limits: ConnectionLimits
  readonly #isProxy: (address: Address) => boolean
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly #all = new ConnectionGroup('all')
  /** Those of an address and those of a network, by their keys. */
  readonly #near = new Map<string, ConnectionGroup>()
  readonly #connections = new Map<Duplex, HttpConnection>()
  #waiting = 0
  /** Monotonic milliseconds; null: they stay open after answers. */
  #endedAtMs: number | null = null
  readonly handshakes = new PendingHandshakes<HttpConnection>()

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
    return this.#connections.size
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
    const asksOften = ({ restedAtMs }: HttpConnection): boolean => restedAtMs > endedAtMs - oftenMs
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
      const connection = this.#accept(socket)
      if (connection) this.handshakes.begin(connection)
    })
    server.on('secureConnection', (socket) => {
      const connection = this.handshakes.end(socket)
      if (connection) this.#encrypt(connection, socket)
      else socket.destroy()
    })
  }

  /** Marks a connection as busy with a request. */
  begin(socket: Socket, answer: ServerResponse | ViewerAnswer): void {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) this.#start(connection, answer)
  }

  /**
   * Serves a request when the answers before it have left. Node begins all requests of a packet at once, and a packet has
   * room for a thousand of them.
   */
  enter(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void {
    const connection = this.#connections.get(request.socket)
    if (connection === undefined) return
    if (connection.answer !== null || connection.waiting !== null)
      return this.#wait(connection, { request, response, serve })
    this.#start(connection, response)
    serve(request, response)
  }

  /** True: an answer is under way or comes next, and the connection closes after the last one. */
  endsWithAnswer(socket: Duplex): boolean {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return false
    const hadWaiting = connection.waiting !== null
    this.#giveUpIncomplete(connection)
    const { answer, waiting } = connection
    if (answer === null && waiting === null) return false
    connection.endsWithAnswer =
      hadWaiting || (answer instanceof ServerResponse && (answer.req.complete || answer.headersSent))
    return connection.endsWithAnswer
  }

  /**
   * Closes connections whose clients do not take their answers. Call it every `UNSENT_LOOK_MS`.
   * @param maxBytes of answers that wait for all clients together
   */
  look(maxBytes: number): void {
    const waiting: { readonly connection: HttpConnection; readonly bytes: number }[] = []
    for (const connection of this.#connections.values()) {
      const { socket, answer, progress } = connection
      if (answer === null) continue
      if (progress.isStuck(socket, answer)) this.#drop(connection, 'stalled')
      else waiting.push({ connection, bytes: unsentBytes(socket, answer) })
    }
    let all = waiting.reduce((sum, { bytes }) => sum + bytes, 0)
    if (all <= maxBytes) return
    for (const { connection, bytes } of waiting.toSorted((a, b) => b.bytes - a.bytes)) {
      if (all <= maxBytes) return
      all -= bytes
      this.#drop(connection, 'unsent')
    }
  }

  /** Closes connections whose answers have begun, but whose requests would not be admitted any more. Call it every few seconds. */
  async lookAtAdmissions(): Promise<void> {
    for (const connection of this.#connections.values()) {
      const { answer } = connection
      if (answer === null || (await mayGoOn(answer))) continue
      if (connection.answer === answer) this.#drop(connection, 'revoked')
    }
  }

  #start(connection: HttpConnection, answer: ServerResponse | ViewerAnswer): void {
    connection.answer = answer
    for (const { link } of connection.memberships) link.leave()
    answer.on('close', () => this.#end(connection))
  }

  #wait(connection: HttpConnection, request: WaitingRequest): void {
    const waiting = (connection.waiting ??= [])
    waiting.push(request)
    this.#waiting += 1
    handleOf(connection.socket)?.readStop()
    if (waiting.length > WAITING_MAX || this.#waiting > ALL_WAITING_MAX) this.#drop(connection, 'flooded')
  }

  /** The rest of it will not come: it gets no answer, so there is none to wait for. */
  #giveUpIncomplete(connection: HttpConnection): void {
    const { waiting } = connection
    if (waiting?.at(-1)?.request.complete !== false) return
    waiting.pop()
    this.#leftWaiting(connection)
  }

  /** In a turn of its own, so that the requests of other connections come between. */
  #next(connection: HttpConnection): void {
    const next = connection.waiting?.shift()
    if (next === undefined) return
    this.#leftWaiting(connection)
    this.#start(connection, next.response)
    next.serve(next.request, next.response)
  }

  /** One request waits no more. After the last one the connection is read again, also to see that its client leaves. */
  #leftWaiting(connection: HttpConnection): void {
    this.#waiting -= 1
    if (connection.waiting?.length !== 0) return
    connection.waiting = null
    handleOf(connection.socket)?.readStart()
  }

  #accept(socket: Socket): HttpConnection | null {
    const address = parseAddress(socket.remoteAddress ?? '')
    const key = address === null || this.#isProxy(address) ? null : addressKey(address)
    const groups = [...this.#groupsNear(key), this.#all]
    if (!groups.every((group) => this.#makeRoom(group))) {
      this.counts.refused += 1
      socket.destroy()
      return null
    }
    const connection = new HttpConnection(socket, groups, key ?? '')
    this.#add(connection)
    return connection
  }

  /** Requests come on the encrypted socket. */
  #encrypt(connection: HttpConnection, socket: Socket): void {
    this.#connections.delete(connection.socket)
    connection.socket = socket
    this.#connections.set(socket, connection)
    socket.on('close', () => this.#remove(connection))
  }

  #groupsNear(key: string | null): ConnectionGroup[] {
    if (key === null) return []
    const network = networkKey(key)
    const near = [this.#near.get(key) ?? new ConnectionGroup('address', key)]
    return network === null ? near : [...near, this.#near.get(network) ?? new ConnectionGroup('network', network)]
  }

  /** 0: no limit. */
  #mostIn({ of }: ConnectionGroup): number {
    const { max, maxPerAddress } = this.#limits
    if (of === 'all') return max
    return of === 'address' || maxPerAddress === 0 ? maxPerAddress : halfway(maxPerAddress, max)
  }

  #makeRoom(group: ConnectionGroup): boolean {
    const most = this.#mostIn(group)
    if (most === 0 || group.size < most) return true
    const longest = group.longestIdle
    if (longest === null) return false
    this.#drop(longest, 'gaveWay')
    return true
  }

  #drop(connection: HttpConnection, why: 'gaveWay' | 'flooded' | 'stalled' | 'unsent' | 'revoked'): void {
    this.counts[why] += 1
    this.#remove(connection)
    connection.socket.destroy()
  }

  #add(connection: HttpConnection): void {
    const { socket } = connection
    this.#connections.set(socket, connection)
    for (const { group } of connection.memberships) {
      group.size += 1
      if (group !== this.#all) this.#near.set(group.key, group)
    }
    this.#rest(connection)
    socket.on('close', () => this.#remove(connection))
  }

  #remove(connection: HttpConnection): void {
    if (!this.#connections.delete(connection.socket)) return
    for (const { group, link } of connection.memberships) {
      group.size -= 1
      link.leave()
      if (group !== this.#all && group.size === 0) this.#near.delete(group.key)
    }
    this.#waiting -= connection.waiting?.length ?? 0
    connection.waiting = null
  }

  #end(connection: HttpConnection): void {
    if (!this.#connections.has(connection.socket)) return
    connection.answer = null
    if (connection.waiting !== null) return void setImmediate(() => this.#next(connection))
    if (connection.endsWithAnswer) endSoon(connection.socket)
    this.#rest(connection)
  }

  #rest(connection: HttpConnection): void {
    connection.restedAtMs = this.#clock.monotonic()
    for (const { group, link } of connection.memberships) group.enter(link)
  }
}
