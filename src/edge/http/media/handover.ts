import type { KeyObject } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual, hmacSha256, sha256Hex } from '../../../base/crypto.ts'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import type { PublisherAdmission, ViewerAdmission } from '../../../commands/sessions/admit.ts'
import { atNode } from '../../../core/nodes/atNode.ts'
import { SIGNED_FOR_NODE_MS } from '../../../core/nodes/linkRequest.ts'
import { type HttpRefusal, notAdmitted } from './refusal.ts'

type NotAdmitted = Extract<PublisherAdmission | ViewerAdmission, { ok: false }>

/** The name of the parameter that a redirect adds to the address. */
export const HANDOVER_PARAMETER = 'handover'

/**
 * Redirects a client to the node that has the feed, or room (307, RFC 9725 section 4.5); that node decides again. On a redirect
 * to another host, browsers drop the `Authorization` header and send `Origin: null`. So the token goes into the query,
 * together with the signed origin that this node saw.
 */
export class Handover {
  readonly #key: KeyObject
  readonly #clock: Clock

  /** @param key the same on every node of an installation, and for nothing else */
  constructor(key: KeyObject, clock: Clock) {
    this.#key = key
    this.#clock = clock
  }

  /** The answer to a client whom this node did not admit. */
  refusalOf(refused: NotAdmitted, request: FastifyRequest, attempt: AccessAttempt): HttpRefusal {
    if (!('url' in refused)) return notAdmitted(refused)
    const { status, message: text, url } = refused
    return { status, text, location: this.#location(url, request, attempt) }
  }

  #location(nodeUrl: string, request: FastifyRequest, attempt: AccessAttempt): string {
    const url = new URL(atNode(nodeUrl, request.url))
    if (attempt.presented !== null) url.searchParams.set('auth', attempt.presented)
    url.searchParams.set(HANDOVER_PARAMETER, this.#seal(attempt))
    return url.href
  }

  /** The attempt of a client that another node may have redirected, with the origin that the other node saw. */
  received(request: FastifyRequest, attempt: AccessAttempt): { attempt: AccessAttempt; isHandedOver: boolean } {
    const sealed = (request.query as Record<string, unknown>)[HANDOVER_PARAMETER]
    const [untilMs = '', origin = '', mac = ''] = typeof sealed === 'string' ? sealed.split('.') : []
    const isGenuine = mac !== '' && constantTimeEqual(mac, this.#mac(attempt, untilMs, origin))
    if (!isGenuine || this.#clock.now() >= Number.parseInt(untilMs, 36)) return { attempt, isHandedOver: false }
    const page = Buffer.from(origin, 'base64url').toString() || null
    return { attempt: { ...attempt, origin: page }, isHandedOver: true }
  }

  #seal(attempt: AccessAttempt): string {
    const untilMs = (this.#clock.now() + SIGNED_FOR_NODE_MS).toString(36)
    const origin = Buffer.from(attempt.origin ?? '').toString('base64url')
    return `${untilMs}.${origin}.${this.#mac(attempt, untilMs, origin)}`
  }

  /**
   * Covers the stream and the presented token. It does not cover the address: a client may reach one node over IPv4 and
   * the other over IPv6, or through relays that give each host another address.
   */
  #mac({ accountId, streamName, presented }: AccessAttempt, untilMs: string, origin: string): string {
    const signed = JSON.stringify([accountId, streamName, sha256Hex(presented ?? ''), untilMs, origin])
    return hmacSha256(this.#key, signed).toString('base64url')
  }
}
