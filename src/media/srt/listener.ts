import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import { halfway } from '../../base/numbers.ts'
import { eachWalled, walled } from '../../base/walls.ts'
import { addressKeyOf, networkKey } from '../../core/access/address.ts'
import { SrtConnection } from './connection.ts'
import { Cookies } from './cookies.ts'
import {
  answerInduction,
  answerRefused,
  type CallerRequest,
  DATAGRAM_MAX_BYTES,
  type Handshake,
  NO_RENDEZVOUS,
  readExtensions,
  readHandshake,
  type Rejection,
  REJECT,
  TOO_OLD,
} from './handshake.ts'
import { CONTROL, readPacket, writeControl } from './packets.ts'
import { RECEIVING_TICK_MS } from './receiving.ts'
import type { SrtAnswer, SrtLimits, SrtRequest } from './types.ts'

export interface SrtOptions {
  readonly host: string
  /** UDP; 0: any free port. */
  readonly port: number
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  readonly limits: SrtLimits
  /** Decides before the publisher may start; no media is accepted before it agrees. */
  readonly publish: (request: SrtRequest) => Promise<SrtAnswer>
}

export interface SrtListener {
  readonly port: number
  /** Callers whose address is proved, admitted or not. */
  connections(): number
  /** Ends every connection and stops listening. Idempotent. */
  stop(): Promise<void>
}

/** Bursts of keyframes from many publishers wait in it. */
const BUFFER_BYTES = 4 << 20
/** Socket ids of peers that answer have 30 bits. */
const SOCKET_ID_MASK = 0x3fff_ffff

/**
 * Listens for SRT publishers on one port. A caller has no state before its cookie proves its address.
 * @throws the error of `bind`, such as EADDRINUSE
 */
export async function startSrt(options: SrtOptions): Promise<SrtListener> {
  const { host, port, log } = options
  const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: BUFFER_BYTES })
  socket.bind(port, host)
  await once(socket, 'listening')
  socket.on('error', (error) => log.warn({ err: error }, 'the SRT socket reports an error'))
  const callers = new Callers(options, socket)
  const take = (datagram: Buffer, from: RemoteInfo): void => callers.take(datagram, from)
  const failed = (error: unknown): void => log.error({ err: error }, 'an SRT packet could not be taken')
  socket.on('message', walled(take, failed))
  let stopped: Promise<void> | null = null
  return {
    port: socket.address().port,
    connections: () => callers.count,
    stop: () => (stopped ??= stop()),
  }

  async function stop(): Promise<void> {
    await callers.stop()
    const closed = once(socket, 'close')
    socket.close()
    await closed
  }
}

type Conclusion = Extract<Handshake, { kind: 'conclusion' }>

interface Caller {
  readonly socketId: number
  readonly endpoint: string
  /** Its endpoint and its socket id. */
  readonly key: string
  readonly connection: SrtConnection
}

/** The connections of one socket, by the id that their packets have. */
class Callers {
  readonly #options: SrtOptions
  readonly #socket: Socket
  readonly #cookies: Cookies
  readonly #bySocketId = new Map<number, Caller>()
  /** By their keys: a caller repeats its handshake. */
  readonly #byCaller = new Map<string, SrtConnection>()
  /** Those that are there to repeat a refusal, the oldest first. */
  readonly #refused = new Set<Caller>()
  readonly #decisions = new Set<Promise<void>>()
  /** Callers that are not decided on yet, by their addresses and by the networks around those. */
  readonly #connecting = new Map<string, number>()
  /** While there are connections. */
  #ticking: Repetition | null = null
  #isStopping = false

  constructor(options: SrtOptions, socket: Socket) {
    this.#options = options
    this.#socket = socket
    this.#cookies = new Cookies(options.random, options.clock)
  }

  get count(): number {
    return this.#bySocketId.size
  }

  take(datagram: Buffer, from: RemoteInfo): void {
    const packet = datagram.length > DATAGRAM_MAX_BYTES ? null : readPacket(datagram)
    if (packet === null) return
    if (packet.kind === 'control' && packet.type === CONTROL.handshake) return this.#handshake(packet.body, from)
    const caller = this.#bySocketId.get(packet.socketId)
    if (caller?.endpoint !== endpointOf(from)) return
    this.#each([caller], (connection) => connection.take(packet, datagram.length))
  }

  /** Waits for the decisions that are under way: each admission needs an end. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#ticking?.stop()
    for (const { connection } of this.#bySocketId.values()) connection.end('stopped')
    await Promise.all(this.#decisions)
  }

  #startTicking(): Repetition {
    const { clock, log } = this.#options
    const looks = new LateLooks(RECEIVING_TICK_MS, clock.monotonic())
    return repeat({ clock, log, name: 'look after SRT connections', everyMs: RECEIVING_TICK_MS }, async () => {
      const nowMs = clock.monotonic()
      this.#tick(nowMs, looks.look(nowMs))
      if (this.#bySocketId.size > 0) return
      this.#ticking = null
      return 'done'
    })
  }

  #tick(nowMs: number, missedMs: number): void {
    this.#each(this.#bySocketId.values(), (connection) => connection.tick(nowMs, missedMs))
    for (const caller of this.#bySocketId.values()) if (caller.connection.isOver) this.#forget(caller)
  }

  #each(callers: Iterable<Caller>, work: (connection: SrtConnection) => void): void {
    eachWalled(
      callers,
      ({ connection }) => work(connection),
      (error, { connection }) => connection.failed(error),
    )
  }

  #forget(caller: Caller): void {
    this.#bySocketId.delete(caller.socketId)
    this.#byCaller.delete(caller.key)
    this.#refused.delete(caller)
  }

  #handshake(body: Buffer, from: RemoteInfo): void {
    const handshake = readHandshake(body)
    if (handshake === null) return
    const endpoint = endpointOf(from)
    if (handshake.kind === 'rendezvous') return this.#refuse(handshake, from, NO_RENDEZVOUS)
    if (handshake.kind === 'induction') {
      return this.#answer(handshake, from, answerInduction(handshake, this.#cookies.make(endpoint)))
    }
    if (!this.#cookies.isRight(endpoint, handshake.cookie)) return
    if (handshake.kind === 'foreign') return this.#refuse(handshake, from, TOO_OLD)
    const known = this.#byCaller.get(`${endpoint} ${handshake.socketId}`)
    if (known !== undefined) known.repeat()
    else if (!this.#isStopping) this.#conclude(handshake, from)
  }

  #conclude(handshake: Conclusion, from: RemoteInfo): void {
    const request = readExtensions(handshake.extensions)
    if (!request.ok) return this.#refuse(handshake, from, request.error)
    const addressKey = addressKeyOf(from.address)
    const full = this.#fullFor(addressKey)
    if (full !== null) return this.#refuse(handshake, from, { code: REJECT.overload, text: full })
    const caller = this.#connect(handshake, from, request.value)
    const { connection } = caller
    this.#count(addressKey, 1)
    const decided = connection.decide(this.#options.publish).catch(connection.failed)
    const decision = decided.finally(() => {
      this.#count(addressKey, -1)
      if (connection.isRefused) this.#refused.add(caller)
      this.#decisions.delete(decision)
    })
    this.#decisions.add(decision)
  }

  #connect(handshake: Conclusion, from: RemoteInfo, request: CallerRequest): Caller {
    const socketId = this.#freeId()
    const connection = new SrtConnection({
      ...this.#options,
      peer: from.address,
      peerSocketId: handshake.socketId,
      socketId,
      sequence: handshake.sequence,
      request,
      send: (datagram) => this.#send(datagram, from),
    })
    const endpoint = endpointOf(from)
    const key = `${endpoint} ${handshake.socketId}`
    const caller = { socketId, endpoint, key, connection }
    this.#bySocketId.set(socketId, caller)
    this.#byCaller.set(key, connection)
    this.#ticking ??= this.#startTicking()
    return caller
  }

  /** Why there is no room for a caller of this address; null: there is. */
  #fullFor(addressKey: string): string | null {
    const { maxConnections, maxConnectingPerAddress: most } = this.#options.limits
    const ofNetwork = this.#connecting.get(networkKey(addressKey) ?? '') ?? 0
    const isCrowded = (this.#connecting.get(addressKey) ?? 0) >= most || ofNetwork >= halfway(most, maxConnections)
    if (most > 0 && isCrowded) {
      return 'Too many connections from this address are being set up: try again in a moment'
    }
    const hasRoom = this.#bySocketId.size < maxConnections || this.#makeRoom()
    return hasRoom ? null : 'Too many connections'
  }

  #count(addressKey: string, change: 1 | -1): void {
    for (const key of [addressKey, networkKey(addressKey) ?? []].flat()) {
      const count = (this.#connecting.get(key) ?? 0) + change
      if (count > 0) this.#connecting.set(key, count)
      else this.#connecting.delete(key)
    }
  }

  /** Forgets the oldest refusal. Strangers cause it, so it does not look at those that publish. */
  #makeRoom(): boolean {
    const [oldest] = this.#refused
    if (oldest !== undefined) this.#forget(oldest)
    return oldest !== undefined
  }

  #freeId(): number {
    let id = 0
    while (id === 0 || this.#bySocketId.has(id)) id = this.#options.random.bytes(4).readUInt32BE(0) & SOCKET_ID_MASK
    return id
  }

  /** Without any state. */
  #refuse(handshake: Handshake, from: RemoteInfo, { code, text }: Rejection): void {
    this.#options.log.info({ peer: from.address, code, description: text }, 'SRT connection refused')
    this.#answer(handshake, from, answerRefused(handshake, code))
  }

  /** Before there is a connection. */
  #answer({ socketId }: Handshake, to: RemoteInfo, body: Buffer): void {
    this.#send(writeControl({ type: CONTROL.handshake, socketId, timeUs: 0, body }), to)
  }

  #send(datagram: Buffer, { port, address }: RemoteInfo): void {
    if (this.#socket.getSendQueueSize() < BUFFER_BYTES) this.#socket.send(datagram, port, address, () => undefined)
  }
}

const endpointOf = ({ address, port }: RemoteInfo): string => `${address} ${port}`
