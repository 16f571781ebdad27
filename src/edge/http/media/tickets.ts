import type { KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'
import type { Piece } from '../../../media/hls/segments.ts'

/** What a ticket opens: the playlist of a session, its init segments, or the segment with this number and its parts. */
export type Opens = 'playlist' | 'init' | number

export interface TicketScope {
  readonly opens: Opens
  readonly feedId: string
}

/** A ticket whose signature was checked. */
interface Genuine extends TicketScope {
  readonly sessionId: string
}

/** 128 bits: one chance in 2^128 a try. */
const MAC_BYTES = 16
/** How many are known to be genuine, at most; a few hundred bytes each. */
const KNOWN_MAX = 10_000
const SHAPE = /^([1-9A-HJ-NP-Za-km-z]{22})\.([\w-]{22})$/

/** Of one session, more than a playlist names. */
const MADE_MAX = 128

/** A session with the tickets that were made for it: a player asks for the same playlist twice a second. */
export interface TicketHolder {
  readonly sessionId: string
  readonly feedId: string
  readonly tickets: Map<Opens, string>
}

/** What the ticket of a piece opens. */
export const opensOf = (piece: Piece): Opens => (piece.kind === 'init' ? 'init' : piece.sequence)

/**
 * Signs the URLs of one viewing session, so that a player that cannot send a header, and a cache in between, can use
 * them. A ticket says whose it is and what it opens; it holds no secret, and nothing in it can be changed.
 *
 * The time is not in it: a player takes another address for another piece (RFC 8216 section 6.2.1), fetches an init
 * segment again and shows nothing until the next keyframe. A ticket is worth as much as its session, and that of a
 * segment no longer than the segment is kept.
 */
export class Tickets {
  readonly #key: KeyObject
  /** Tickets whose signature was checked, with what they open: a player shows most of them several times. */
  readonly #known = new Map<string, Genuine>()

  /** @param key of this installation, for nothing else */
  constructor(key: KeyObject) {
    this.#key = key
  }

  make(sessionId: string, scope: TicketScope): string {
    return `${sessionId}.${this.#mac(sessionId, scope)}`
  }

  /** As `make`, once for each. */
  of({ sessionId, feedId, tickets }: TicketHolder, opens: Opens): string {
    const made = tickets.get(opens) ?? this.make(sessionId, { opens, feedId })
    if (tickets.size >= MADE_MAX) tickets.clear()
    tickets.set(opens, made)
    return made
  }

  /** The session of a ticket that opens this, or null. Whether the session is still on is not in the ticket. */
  read(ticket: unknown, scope: TicketScope): string | null {
    return typeof ticket === 'string' ? this.#sessionOf(ticket, scope) : null
  }

  #sessionOf(ticket: string, { opens, feedId }: TicketScope): string | null {
    const known = this.#known.get(ticket)
    if (known !== undefined) return known.opens === opens && known.feedId === feedId ? known.sessionId : null
    const [, sessionId, mac] = SHAPE.exec(ticket) ?? []
    if (sessionId === undefined || mac === undefined) return null
    if (!constantTimeEqual(mac, this.#mac(sessionId, { opens, feedId }))) return null
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(ticket, { opens, feedId, sessionId })
    return sessionId
  }

  #mac(sessionId: string, { opens, feedId }: TicketScope): string {
    const mac = hmacSha256(this.#key, JSON.stringify([opens, sessionId, feedId]))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}
