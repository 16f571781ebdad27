import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'

/** What a ticket says: this session may read this stream. */
export interface TicketFacts {
  readonly sessionId: string
  /** The stream whose playlists and media it opens, as their addresses name it. */
  readonly stream: string
  /** The token that admitted the session, or its parent if it is self-signed. Null: the stream needs no token. */
  readonly tokenId: number | null
  /** The viewer's request in sealed form, for nodes that do not know the session; base64url, may be empty. */
  readonly request: string
}

/** 128 bits: each guess succeeds with a chance of 1 in 2^128. */
const MAC_BYTES = 16
/** The number of cached tickets; each takes a few hundred bytes, with a self-signed token a kilobyte. */
const CACHED_MAX = 10_000
const SHAPE = /^([1-9A-HJ-NP-Za-km-z]{22})\.(0|[1-9a-z][0-9a-z]{0,10})\.([\w-]{0,3500})\.([\w-]{22})$/

const NODE_SHAPE = /^node\.(\d{1,15})\.([\w-]{22})$/
/** A request of another node takes less, and clocks of nodes differ by less. */
const NODE_TICKET_MS = 120_000

/**
 * Signs the addresses of one viewing session for players and caches that cannot send a header. Its signature prevents
 * changes.
 *
 * A ticket contains no time, because players request the same addresses for hours. It proves which session asks, and not that the
 * session may continue: the rules of its token decide that with each request.
 */
export class Tickets {
  readonly #key: KeyObject
  readonly #clock: Clock
  /** Tickets with a checked signature: a player sends the same one with each request. */
  readonly #cached = new Map<string, TicketFacts>()

  /** @param key the same on every node of an installation, and for nothing else */
  constructor(key: KeyObject, clock: Clock) {
    this.#key = key
    this.#clock = clock
  }

  make(facts: TicketFacts): string {
    const { sessionId, tokenId, request } = facts
    return `${sessionId}.${(tokenId ?? 0).toString(36)}.${request}.${this.#macOf(facts)}`
  }

  /** What a ticket for this stream says, or null. A ticket does not say whether its session is still open. */
  read(ticket: unknown, stream: string): TicketFacts | null {
    return typeof ticket === 'string' ? this.#factsOf(ticket, stream) : null
  }

  /** A ticket with which a node of this installation reads a stream of another node. */
  forNode(stream: string): string {
    const untilMs = this.#clock.now() + NODE_TICKET_MS
    return `node.${untilMs}.${this.#mac(['node', untilMs, stream])}`
  }

  /** Whether another node made this ticket, for this stream and a moment ago. */
  isOfNode(ticket: unknown, stream: string): boolean {
    const [, until = '', mac = ''] = (typeof ticket === 'string' && NODE_SHAPE.exec(ticket)) || []
    const leftMs = Number(until) - this.#clock.now()
    if (mac === '' || leftMs <= 0 || leftMs > 2 * NODE_TICKET_MS) return false
    return constantTimeEqual(mac, this.#mac(['node', Number(until), stream]))
  }

  #factsOf(ticket: string, stream: string): TicketFacts | null {
    const cached = this.#cached.get(ticket)
    if (cached !== undefined) return cached.stream === stream ? cached : null
    const [, sessionId, token = '0', request = '', mac] = SHAPE.exec(ticket) ?? []
    if (sessionId === undefined || mac === undefined) return null
    const facts = { sessionId, stream, tokenId: token === '0' ? null : Number.parseInt(token, 36), request }
    if (!constantTimeEqual(mac, this.#macOf(facts))) return null
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear()
    this.#cached.set(ticket, facts)
    return facts
  }

  #macOf({ sessionId, stream, tokenId, request }: TicketFacts): string {
    return this.#mac(['viewer', sessionId, stream, tokenId, request])
  }

  #mac(signed: readonly (string | number | null)[]): string {
    const mac = hmacSha256(this.#key, JSON.stringify(signed))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}
