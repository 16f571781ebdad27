import type { KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'
import type { PieceKey } from '../../../core/hls/facts.ts'

/** What a ticket opens: the playlist of a session, its init segments, or the segment or part with this file name. */
export type Opens = 'playlist' | 'init' | `s${number}.m4s` | `p${number}.m4s`

export interface TicketScope {
  readonly opens: Opens
  readonly feedId: string
}

/** A ticket whose signature was checked. */
interface Genuine extends TicketScope {
  readonly sessionId: string
}

/** 128 bits: each guess succeeds with a chance of 1 in 2^128. */
const MAC_BYTES = 16
/** The number of cached tickets; each takes a few hundred bytes. */
const CACHED_MAX = 10_000
const SHAPE = /^([1-9A-HJ-NP-Za-km-z]{22})\.([\w-]{22})$/

/** Tickets of one session; more than a playlist names. */
const MADE_MAX = 128

/** A session with its tickets, because a player requests the same playlist twice a second. */
export interface TicketHolder {
  readonly sessionId: string
  readonly feedId: string
  readonly tickets: Map<Opens, string>
}

/** What the ticket of a piece opens. */
export const opensOf = ({ kind, name }: Pick<PieceKey, 'kind' | 'name'>): Opens =>
  kind === 'init' ? 'init' : (name as Opens)

/**
 * Signs the URLs of one viewing session for players and caches that cannot send a header. A ticket names its session
 * and what it opens. It holds no secret, and its signature prevents changes.
 *
 * A ticket contains no time. A player takes a changed URL for another segment (RFC 8216 section 6.2.1): it fetches the
 * init segment again and shows nothing until the next keyframe. A ticket lives as long as its session, and that of a
 * segment or part no longer than Sluice holds it.
 */
export class Tickets {
  readonly #key: KeyObject
  /** Tickets with a checked signature, with what they open: a player sends most of them several times. */
  readonly #cached = new Map<string, Genuine>()

  /** @param key of this installation, for nothing else */
  constructor(key: KeyObject) {
    this.#key = key
  }

  make(sessionId: string, scope: TicketScope): string {
    return `${sessionId}.${this.#mac(sessionId, scope)}`
  }

  /** As `make`, but each ticket is made only once. */
  of({ sessionId, feedId, tickets }: TicketHolder, opens: Opens): string {
    const made = tickets.get(opens) ?? this.make(sessionId, { opens, feedId })
    if (tickets.size >= MADE_MAX) tickets.clear()
    tickets.set(opens, made)
    return made
  }

  /** The session of a ticket that opens this, or null. A ticket does not say whether its session is still open. */
  read(ticket: unknown, scope: TicketScope): string | null {
    return typeof ticket === 'string' ? this.#sessionOf(ticket, scope) : null
  }

  #sessionOf(ticket: string, { opens, feedId }: TicketScope): string | null {
    const cached = this.#cached.get(ticket)
    if (cached !== undefined) return cached.opens === opens && cached.feedId === feedId ? cached.sessionId : null
    const [, sessionId, mac] = SHAPE.exec(ticket) ?? []
    if (sessionId === undefined || mac === undefined) return null
    if (!constantTimeEqual(mac, this.#mac(sessionId, { opens, feedId }))) return null
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear()
    this.#cached.set(ticket, { opens, feedId, sessionId })
    return sessionId
  }

  #mac(sessionId: string, { opens, feedId }: TicketScope): string {
    const mac = hmacSha256(this.#key, JSON.stringify([opens, sessionId, feedId]))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}
