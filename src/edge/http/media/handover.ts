import type { KeyObject } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual, hmacSha256, sha256Hex } from '../../../base/crypto.ts'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import type { ViewerAdmission } from '../../../commands/sessions/admit.ts'
import type { HttpRefusal } from './refusal.ts'

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
  refusalOf(refused: NotAdmitted, request: FastifyRequest, attempt: AccessAttempt): HttpRefusal {
    const { status, message: text } = refused
    return 'url' in refused
      ? { status, text, location: this.#location(refused.url, request, attempt) }
      : { status, text, retryAfterSeconds: refused.retryAfterSeconds }
  }

  #location(nodeUrl: string, request: FastifyRequest, attempt: AccessAttempt): string {
    const url = new URL(nodeUrl.replace(/\/$/, '') + request.url)
    if (attempt.presented !== null) url.searchParams.set('auth', attempt.presented)
    url.searchParams.set(PARAMETER, this.#seal(attempt))
    return url.href
  }

  /** The approach of somebody who may have been sent here, with the page that they came from then. */
  received(request: FastifyRequest, attempt: AccessAttempt): { approach: AccessAttempt; isHandedOver: boolean } {
    const sealed = (request.query as Record<string, unknown>)[PARAMETER]
    const [untilMs = '', origin = '', mac = ''] = typeof sealed === 'string' ? sealed.split('.') : []
    const isGenuine = mac !== '' && constantTimeEqual(mac, this.#mac(attempt, untilMs, origin))
    if (!isGenuine || this.#clock.now() >= Number.parseInt(untilMs, 36))
      return { approach: attempt, isHandedOver: false }
    const page = Buffer.from(origin, 'base64url').toString() || null
    return { approach: { ...attempt, origin: page }, isHandedOver: true }
  }

  #seal(attempt: AccessAttempt): string {
    const untilMs = (this.#clock.now() + GOOD_FOR_MS).toString(36)
    const origin = Buffer.from(attempt.origin ?? '').toString('base64url')
    return `${untilMs}.${origin}.${this.#mac(attempt, untilMs, origin)}`
  }

  /**
   * For this stream and the token that was presented. Not for an address: a viewer may reach one node over IPv4 and the
   * other over IPv6, or through relays that give each host another address.
   */
  #mac({ accountId, streamName, presented }: AccessAttempt, untilMs: string, origin: string): string {
    const said = JSON.stringify([accountId, streamName, sha256Hex(presented ?? ''), untilMs, origin])
    return hmacSha256(this.#key, said).toString('base64url')
  }
}
