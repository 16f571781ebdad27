import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ClientProgress } from './unsent.ts'
import type { ViewerAnswer } from './viewerRequest.ts'

/** How long a connection stays open after its last answer. A client that still sends would lose the answer to a reset. */
const LINGER_MS = 1000

/** Closes a connection after all that is written to it. @param last is written before */
export function endSoon(socket: Duplex, last?: string): void {
  socket.end(last)
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** By answers that may take long: whether their requests would be admitted again. */
const ADMISSIONS = new WeakMap<ServerResponse, () => Promise<boolean>>()

/** Ends an answer that takes long once `isAdmitted` says no. */
export const lastsWhile = (answer: ServerResponse, isAdmitted: () => Promise<boolean>): void =>
  void ADMISSIONS.set(answer, isAdmitted)

/** Ends it also once what it is of is gone. */
export function lastsWhileThere(answer: ServerResponse, isThere: () => Promise<boolean>): void {
  const isAdmitted = ADMISSIONS.get(answer)
  lastsWhile(answer, async () => (await isAdmitted?.()) !== false && isThere())
}

/** Whether an answer that has begun may go on. It may while the store cannot say, and if no admission is known. */
export async function mayGoOn(answer: ServerResponse | ViewerAnswer | null): Promise<boolean> {
  if (!(answer instanceof ServerResponse) || !answer.headersSent) return true
  return (await ADMISSIONS.get(answer)?.().catch(() => true)) ?? true
}

/** A request that came before the answer to an earlier one of its connection had left. */
export interface WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly serve: RequestListener
}

/** A connection and its current request. */
export class HttpConnection {
  /** With TLS, the one below until the handshake has ended. */
  socket: Socket
  /** Empty: a trusted proxy, or no address. */
  readonly addressKey: string
  readonly memberships: readonly Membership[]
  readonly progress = new ClientProgress()
  /** When it was opened, or its last answer had left; monotonic milliseconds. */
  restedAtMs = 0
  /** The answer under way. */
  answer: ServerResponse | ViewerAnswer | null = null
  /** Null: no request waits. */
  waiting: WaitingRequest[] | null = null
  endsWithAnswer = false

  constructor(socket: Socket, groups: readonly ConnectionGroup[], addressKey: string) {
    this.socket = socket
    this.addressKey = addressKey
    this.memberships = groups.map((group) => ({ group, link: new RingLink(this) }))
  }
}

/** A group that a connection counts in, and its link there. */
interface Membership {
  readonly group: ConnectionGroup
  readonly link: RingLink
}

/** A link in a ring of idle connections. Alone, it is its own neighbour. */
class RingLink {
  readonly connection: HttpConnection | null
  #before: RingLink = this
  #after: RingLink = this

  constructor(connection: HttpConnection | null) {
    this.connection = connection
  }

  get before(): RingLink {
    return this.#before
  }

  get after(): RingLink {
    return this.#after
  }

  /** Moves before `other`. */
  enter(other: RingLink): void {
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
export class ConnectionGroup {
  /** Stands between the one that was idle longest and the latest. */
  readonly #idle = new RingLink(null)
  readonly of: 'address' | 'network' | 'all'
  /** Of the address or network. */
  readonly key: string
  size = 0

  constructor(of: ConnectionGroup['of'], key = '') {
    this.of = of
    this.key = key
  }

  get longestIdle(): HttpConnection | null {
    return this.#idle.after.connection
  }

  get latestIdle(): HttpConnection | null {
    return this.#idle.before.connection
  }

  enter(link: RingLink): void {
    link.enter(this.#idle)
  }
}
