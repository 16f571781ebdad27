import type { KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'

/** What a ticket says: this session may read this stream. */
export interface TicketFacts {
  readonly sessionId: string
  /** The stream whose playlists and media it opens, as their addresses name it. */
  readonly stream: string
  /** The token that admitted the session, or its parent if it is self-signed. Null: the stream needs no token. */
  readonly tokenId: number | null
}

/** 128 bits: each guess succeeds with a chance of 1 in 2^128. */
const MAC_BYTES = 16
/** The number of cached tickets; each takes a few hundred bytes. */
const CACHED_MAX = 10_000
const SHAPE = /^([1-9A-HJ-NP-Za-km-z]{22})\.(0|[1-9a-z][0-9a-z]{0,10})\.([\w-]{22})$/

/**
 * Signs the addresses of one viewing session for players and caches that cannot send a header. A ticket holds no secret,
 * and its signature prevents changes.
 *
 * A ticket contains no time, because players request the same addresses for hours. It proves who asks, and not that the
 * session may continue: the rules of its token decide that with each request.
 */
export class Tickets {
  readonly #key: KeyObject
  /** Tickets with a checked signature: a player sends the same one with each request. */
  readonly #cached = new Map<string, TicketFacts>()

  /** @param key of this installation, for nothing else */
  constructor(key: KeyObject) {
    this.#key = key
  }

  make(facts: TicketFacts): string {
    const { sessionId, tokenId } = facts
    return `${sessionId}.${(tokenId ?? 0).toString(36)}.${this.#mac(facts)}`
  }

  /** What a ticket for this stream says, or null. A ticket does not say whether its session is still open. */
  read(ticket: unknown, stream: string): TicketFacts | null {
    return typeof ticket === 'string' ? this.#factsOf(ticket, stream) : null
  }

  #factsOf(ticket: string, stream: string): TicketFacts | null {
    const cached = this.#cached.get(ticket)
    if (cached !== undefined) return cached.stream === stream ? cached : null
    const [, sessionId, token = '0', mac] = SHAPE.exec(ticket) ?? []
    if (sessionId === undefined || mac === undefined) return null
    const facts = { sessionId, stream, tokenId: token === '0' ? null : Number.parseInt(token, 36) }
    if (!constantTimeEqual(mac, this.#mac(facts))) return null
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear()
    this.#cached.set(ticket, facts)
    return facts
  }

  #mac({ sessionId, stream, tokenId }: TicketFacts): string {
    const mac = hmacSha256(this.#key, JSON.stringify(['ticket', sessionId, stream, tokenId]))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}
