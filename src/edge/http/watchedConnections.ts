import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import type { RequestHead, Splice, Watch } from '../../base/splice.ts'
import type { HttpConnections } from './connections.ts'
import { isMediaPath } from './media/cors.ts'
import { countWithoutNode } from './passedBytes.ts'
import { handleOf } from './socketHandle.ts'
import type { ViewerAnswer, ViewerRequest } from './viewerRequest.ts'

/** What the addon sends: a head with its empty line, and a body. */
export interface WholeAnswer {
  readonly head: string
  readonly body: Buffer
}

/** Answers a GET of a whole resource, and has decided on everything. Null: it had no effect, and Node reads the request. */
export type WatchedPath = (request: ViewerRequest, answer: ViewerAnswer) => WholeAnswer | null

export interface WatchedOptions {
  readonly clock: Clock
  readonly connections: Pick<HttpConnections, 'begin'>
  readonly path: WatchedPath
}

/** EPIPE. */
const BROKEN = -32

/** Node takes 72 seconds without a request for idle. This much later is early enough to say that there was one. */
const TIMER_STEP_MS = 5000

/** An answer that the addon sends. */
class WatchedAnswer implements ViewerAnswer {
  readonly req: ViewerRequest
  writableFinished = false
  /** The bytes of it that are counted. */
  counted = 0
  readonly #listeners: (() => void)[] = []

  constructor(req: ViewerRequest) {
    this.req = req
  }

  on(_event: 'close', listener: () => void): void {
    this.#listeners.push(listener)
  }

  destroy(): void {
    this.req.socket.destroy()
  }

  close(isFinished: boolean): void {
    this.writableFinished = isFinished
    for (const listener of this.#listeners) listener()
  }
}

/** A connection that the addon watches between two requests. */
class Watched {
  readonly id: number
  readonly socket: Socket
  readonly descriptor: number
  /** `bytesRead` of the socket, once Node has read the request that was left to it and nothing else. Null: none was. */
  expected: number | null = null
  /** Node has answered a request before. It closes connections that never sent it one. */
  isKnown = false
  answer: WatchedAnswer | null = null
  /** Monotonic milliseconds. */
  timerSetMs = Number.NEGATIVE_INFINITY

  constructor(id: number, socket: Socket, descriptor: number) {
    this.id = id
    this.socket = socket
    this.descriptor = descriptor
  }
}

/**
 * Answers frequent requests without Node's sockets and parser. The addon reads the head of each request, and leaves it in
 * the socket. If the path does not answer it, Node reads and answers it as if nothing had been there. The connection comes
 * back with the next request, provided that Node has read exactly the bytes of this one: then its parser is between two
 * requests. In doubt, Node keeps a connection for good.
 *
 * A connection is in one of these states:
 * - **watched** (`answer` and `expected` are null): Node does not read. The addon calls `#answer` with the next head.
 * - **answered** (`answer` is set): the addon sends, and is watched again when it calls `#end`.
 * - **left** (`expected` is set): Node reads one request and answers it. Then `#takeBack` makes it watched and known. The
 *   first request of each connection goes this way.
 * - **Node's** (in neither map): for good, after a request for something else than media, or one that Node read past.
 *
 * The server calls `attach` once, `requested` for each request that Node has read, `count` every few seconds, and at its end
 * `drain`, after which all further requests are left to Node, and `close`.
 */
export class WatchedConnections {
  /** Answers that the addon sent. */
  answered = 0
  readonly #addon: Splice
  readonly #clock: Clock
  readonly #connections: Pick<HttpConnections, 'begin'>
  readonly #path: WatchedPath
  readonly #byId: (Watched | undefined)[] = []
  readonly #bySocket = new Map<Socket, Watched>()
  readonly #drained: (() => void)[] = []
  #watch: Watch | null = null
  #underWay = 0
  #isClosing = false
  #keepAliveMs = 0

  constructor(addon: Splice, { clock, connections, path }: WatchedOptions) {
    this.#addon = addon
    this.#clock = clock
    this.#connections = connections
    this.#path = path
  }

  /** Attach it after the limits on connections. It is for servers without TLS. */
  attach(server: Server): void {
    this.#watch = this.#addon.watch(() => this.#run())
    this.#keepAliveMs = server.keepAliveTimeout
    server.on('connection', (socket: Socket) => this.#begin(socket))
  }

  /** Call it for each request that Node has read. */
  requested({ socket }: IncomingMessage, response: ServerResponse): void {
    const one = this.#bySocket.get(socket)
    if (one === undefined) return
    if (one.expected === null) this.#forget(one)
    else response.on('close', () => this.#takeBack(one))
  }

  /** Counts what clients have taken of answers under way. */
  count(): void {
    if (this.#watch === null || this.#underWay === 0) return
    for (const { id, socket, answer } of this.#bySocket.values()) {
      if (answer !== null) countUpTo(socket, answer, this.#addon.sent(this.#watch, id))
    }
  }

  /** Leaves all further requests to Node. Resolves when no answer is under way. */
  async drain(): Promise<void> {
    this.#isClosing = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => void this.#drained.push(resolve))
  }

  /** Call it when all connections are closed. */
  close(): void {
    if (this.#watch === null) return
    for (const one of this.#bySocket.values()) one.socket.destroy()
    this.#bySocket.clear()
    this.#addon.unwatch(this.#watch)
    this.#watch = null
  }

  #begin(socket: Socket): void {
    const handle = handleOf(socket)
    if (this.#watch === null || this.#isClosing || socket.destroyed || handle === null || handle.fd < 0) return
    const id = this.#addon.add(this.#watch, handle.fd)
    if (id < 0) return
    const one = new Watched(id, socket, handle.fd)
    this.#byId[id] = one
    this.#bySocket.set(socket, one)
    handle.readStop()
    socket.on('close', () => this.#forget(one))
  }

  #run(): void {
    if (this.#watch === null) return
    this.#addon.run(
      this.#watch,
      (id, ...head) => this.#answer(id, head),
      (id, sent, error) => this.#end(id, sent, error),
    )
  }

  #answer(id: number, head: RequestHead): boolean {
    const one = this.#byId[id]
    if (this.#watch === null || one === undefined || !isOpen(one)) return false
    const [length, isWholeGet, url, origin, referer, userAgent, forwardedFor, cmcdRequest, cmcdStatus] = head
    if (one.isKnown && isWholeGet && !this.#isClosing) {
      const headers = {
        origin,
        referer,
        'user-agent': userAgent,
        'x-forwarded-for': forwardedFor,
        'cmcd-request': cmcdRequest,
        'cmcd-status': cmcdStatus,
      }
      const answer = new WatchedAnswer({ url, socket: one.socket, headers })
      const whole = this.#path(answer.req, answer)
      if (whole !== null) return this.#send(this.#watch, one, answer, length, whole)
    }
    this.#leaveToNode(this.#watch, one, length > 0 && isMediaPath(url) ? length : null)
    return false
  }

  #send(watch: Watch, one: Watched, answer: WatchedAnswer, length: number, { head, body }: WholeAnswer): true {
    const { socket } = one
    this.#connections.begin(socket, answer)
    one.answer = answer
    this.#underWay += 1
    this.answered += 1
    // Only now is the descriptor surely that of this connection.
    const sent = isOpen(one) ? this.#addon.answer(watch, one.id, length, head, body) : BROKEN
    if (sent < 0) {
      socket.destroy()
      return true
    }
    countWithoutNode(socket, { in: length, out: sent })
    answer.counted = sent
    if (sent === head.length + body.length) this.#finish(one, true)
    // A slow viewer.
    else socket.setTimeout(0)
    return true
  }

  /** The addon has sent the rest of an answer, or could not. */
  #end(id: number, sent: number, error: number): void {
    const one = this.#byId[id]
    if (one === undefined || one.answer === null) return
    countUpTo(one.socket, one.answer, sent)
    one.timerSetMs = Number.NEGATIVE_INFINITY
    this.#finish(one, error === 0)
    if (error !== 0) one.socket.destroy()
  }

  #finish(one: Watched, isFinished: boolean): void {
    const { answer, socket } = one
    if (answer === null) return
    one.answer = null
    const nowMs = this.#clock.monotonic()
    if (isFinished && nowMs - one.timerSetMs > TIMER_STEP_MS) {
      one.timerSetMs = nowMs
      socket.setTimeout(this.#keepAliveMs + TIMER_STEP_MS)
    }
    answer.close(isFinished)
    this.#underWay -= 1
    if (this.#underWay === 0) for (const resolve of this.#drained.splice(0)) resolve()
  }

  /** @param length of the request's head; null: the connection is Node's for good */
  #leaveToNode(watch: Watch, one: Watched, length: number | null): void {
    const handle = handleOf(one.socket)
    this.#addon.arm(watch, one.id, false)
    if (length === null) this.#forget(one)
    else one.expected = one.socket.bytesRead + length
    handle?.readStart()
  }

  /** Node has answered the request that was left to it. */
  #takeBack(one: Watched): void {
    const { socket, expected } = one
    one.expected = null
    if (this.#watch === null || this.#byId[one.id] !== one) return
    if (this.#isClosing || !isOpen(one) || socket.bytesRead !== expected || !isQuiet(socket)) {
      this.#forget(one)
      return
    }
    handleOf(socket)?.readStop()
    one.isKnown = true
    if (this.#addon.arm(this.#watch, one.id, true) === 0) return
    this.#forget(one)
    handleOf(socket)?.readStart()
  }

  #forget(one: Watched): void {
    if (this.#watch === null || this.#byId[one.id] !== one) return
    const sent = this.#addon.forget(this.#watch, one.id)
    this.#byId[one.id] = undefined
    this.#bySocket.delete(one.socket)
    if (one.answer === null) return
    countUpTo(one.socket, one.answer, sent)
    this.#finish(one, false)
  }
}

function countUpTo(socket: Socket, answer: WatchedAnswer, sent: number): void {
  countWithoutNode(socket, { in: 0, out: Math.max(0, sent - answer.counted) })
  answer.counted = Math.max(sent, answer.counted)
}

/** The descriptor still is that of this connection. */
const isOpen = ({ socket, descriptor }: Watched): boolean =>
  !socket.destroyed && socket.writable && handleOf(socket)?.fd === descriptor

/** Node has nothing left to send. */
const isQuiet = (socket: Socket): boolean => socket.writableLength === 0 && handleOf(socket)?.writeQueueSize === 0
