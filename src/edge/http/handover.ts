import type { KeyObject } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { constantTimeEqual, hmacSha256, sha256Hex } from '../../base/crypto.ts'
import type { Approach } from '../../commands/authorize.ts'
import type { ViewerAdmission } from '../../commands/live/admit.ts'
import type { Refused } from './webrtc/refusal.ts'

type NotAdmitted = Extract<ViewerAdmission, { ok: false }>

/** As long as a client may take to follow. */
const GOOD_FOR_MS = 30_000
const PARAMETER = 'handover'

/**
 * Sends a viewer to the node that has the feed (307, RFC 9725 section 4.5), which decides anew. Browsers leave the
 * `Authorization` header out when a redirect leads to another host, and send `Origin: null`: so the token goes into the
 * query, and the page that was seen here goes along signed.
 */
export class Handover {
  readonly #key: KeyObject
  readonly #clock: Clock

  /** @param key the same on every node of an installation, and for nothing else */
  constructor(key: KeyObject, clock: Clock) {
    this.#key = key
    this.#clock = clock
  }

  /** What a viewer is told who was not admitted here. */
  refusalOf(refused: NotAdmitted, request: FastifyRequest, approach: Approach): Refused {
    const { status, message: text } = refused
    return 'url' in refused
      ? { status, text, location: this.#location(refused.url, request, approach) }
      : { status, text, retryAfterSeconds: refused.retryAfterSeconds }
  }

  #location(nodeUrl: string, request: FastifyRequest, approach: Approach): string {
    const url = new URL(nodeUrl.replace(/\/$/, '') + request.url)
    if (approach.presented !== null) url.searchParams.set('auth', approach.presented)
    url.searchParams.set(PARAMETER, this.#seal(approach))
    return url.href
  }

  /** The approach of somebody who may have been sent here, with the page that they came from then. */
  received(request: FastifyRequest, approach: Approach): { approach: Approach; isHandedOver: boolean } {
    const sealed = (request.query as Record<string, unknown>)[PARAMETER]
    const [untilMs = '', origin = '', mac = ''] = typeof sealed === 'string' ? sealed.split('.') : []
    const isGenuine = mac !== '' && constantTimeEqual(mac, this.#mac(approach, untilMs, origin))
    if (!isGenuine || this.#clock.now() >= Number.parseInt(untilMs, 36)) return { approach, isHandedOver: false }
    const page = Buffer.from(origin, 'base64url').toString() || null
    return { approach: { ...approach, origin: page }, isHandedOver: true }
  }

  #seal(approach: Approach): string {
    const untilMs = (this.#clock.now() + GOOD_FOR_MS).toString(36)
    const origin = Buffer.from(approach.origin ?? '').toString('base64url')
    return `${untilMs}.${origin}.${this.#mac(approach, untilMs, origin)}`
  }

  /**
   * For this stream and the token that was presented. Not for an address: a viewer may reach one node over IPv4 and the
   * other over IPv6, or through relays that give each host another address.
   */
  #mac({ accountId, streamName, presented }: Approach, untilMs: string, origin: string): string {
    const said = JSON.stringify([accountId, streamName, sha256Hex(presented ?? ''), untilMs, origin])
    return hmacSha256(this.#key, said).toString('base64url')
  }
}
