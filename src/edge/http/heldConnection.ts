import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ClientProgress } from './unsent.ts'
import type { ViewerAnswer } from './viewerRequest.ts'

/** A request that came before the answer to an earlier one of its connection had left. */
export interface WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly serve: RequestListener
}

/** A connection and its current request. */
export class Held {
  /** With TLS, the one below until the handshake has ended. */
  socket: Socket
  /** Connections from the same address; null: this one comes from a trusted proxy. */
  readonly peers: Crowd | null
  readonly addressKey: string
  readonly amongAll = new Place(this)
  readonly amongPeers = new Place(this)
  readonly progress = new ClientProgress()
  /** The answer under way. */
  answer: ServerResponse | ViewerAnswer | null = null
  /** Null: no request waits. */
  waiting: WaitingRequest[] | null = null
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
export class Crowd {
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
