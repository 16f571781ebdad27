import type { KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'

/** What a ticket opens: the playlist of a session, or the media that it names. */
export type TicketKind = 'playlist' | 'media'

export interface TicketScope {
  readonly kind: TicketKind
  readonly feedId: string
}

/** What a ticket of ours says. */
interface Genuine extends TicketScope {
  readonly sessionId: string
  /** 0: as long as the session. */
  readonly untilMs: number
}

/** 128 bits: one chance in 2^128 a try. */
const MAC_BYTES = 16
/** How many are known to be genuine, at most; a few hundred bytes each. */
const KNOWN_MAX = 10_000
const SHAPE = /^([1-9A-HJ-NP-Za-km-z]{22})\.([0-9a-z]{1,10})\.([\w-]{22})$/

/**
 * Signs the URLs of one viewing session, so that a player that cannot send a header, and a cache in between, can use
 * them. A ticket says whose it is, what it opens and until when; it holds no secret, and nothing in it can be changed.
 */
export class Tickets {
  readonly #key: KeyObject
  /** Tickets whose signature was checked, with what they open: a player shows each one many times. */
  readonly #known = new Map<string, Genuine>()

  /** @param key of this installation, for nothing else */
  constructor(key: KeyObject) {
    this.#key = key
  }

  /** @param untilMs epoch milliseconds, rounded up to a second; 0: as long as the session */
  make(sessionId: string, scope: TicketScope, untilMs: number): string {
    const until = Math.ceil(untilMs / 1000).toString(36)
    return `${sessionId}.${until}.${this.#mac(sessionId, scope, until)}`
  }

  /** The session of a ticket that opens this now, or null. Whether the session is still on is not in the ticket. */
  read(ticket: unknown, scope: TicketScope, nowMs: number): string | null {
    const genuine = typeof ticket === 'string' ? this.#genuine(ticket, scope) : null
    if (genuine === null) return null
    const { sessionId, untilMs } = genuine
    return untilMs === 0 || nowMs < untilMs ? sessionId : null
  }

  #genuine(ticket: string, scope: TicketScope): Genuine | null {
    const known = this.#known.get(ticket)
    if (known !== undefined) return known.kind === scope.kind && known.feedId === scope.feedId ? known : null
    const [, sessionId, until, mac] = SHAPE.exec(ticket) ?? []
    if (sessionId === undefined || until === undefined || mac === undefined) return null
    if (!constantTimeEqual(mac, this.#mac(sessionId, scope, until))) return null
    const { kind, feedId } = scope
    const genuine = { kind, feedId, sessionId, untilMs: Number.parseInt(until, 36) * 1000 }
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(ticket, genuine)
    return genuine
  }

  #mac(sessionId: string, { kind, feedId }: TicketScope, until: string): string {
    const mac = hmacSha256(this.#key, JSON.stringify([kind, sessionId, feedId, until]))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}
