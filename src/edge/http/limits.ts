import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { Throttle } from '../../base/throttle.ts'
import { addressKey } from '../../core/access/address.ts'
import type { PeerOf } from './peer.ts'

export interface RequestLimitOptions {
  /** Requests of one address that bring a secret or a credential which is not valid. */
  failedAttemptsPerMinute: number
  /** Requests of one credential to the live interface; 0: any number. */
  requestsPerMinute: number
}

/** About 100 bytes each. */
const ADDRESSES_MAX = 20_000
const CREDENTIALS_MAX = 20_000

/**
 * Tells whoever guesses, or asks too much, to come again later. A valid secret is always let in: it cannot be guessed, and
 * whoever shares an address with a badly configured client must not be locked out by it. Every answer is in milliseconds
 * to wait; 0: go on.
 */
export class RequestLimits {
  readonly #clock: Clock
  readonly #peerOf: PeerOf
  readonly #failed: Throttle
  readonly #requests: Throttle

  constructor(clock: Clock, peerOf: PeerOf, options: RequestLimitOptions) {
    this.#clock = clock
    this.#peerOf = peerOf
    this.#failed = new Throttle(options.failedAttemptsPerMinute, ADDRESSES_MAX)
    this.#requests = new Throttle(options.requestsPerMinute || Number.POSITIVE_INFINITY, CREDENTIALS_MAX)
  }

  /** What this request brought is not valid. */
  failed(request: FastifyRequest): number {
    const { socket, headers } = request
    const key = addressKey(this.#peerOf(socket.remoteAddress, headers))
    return this.#failed.take(key, this.#clock.monotonic())
  }

  /** One request of a credential. */
  request(credentialId: number): number {
    return this.#requests.take(String(credentialId), this.#clock.monotonic())
  }
}

/** Says when to come again (RFC 9110 section 10.2.3), in whole seconds. */
export function sayRetryAfter(reply: FastifyReply, waitMs: number): void {
  reply.header('Retry-After', String(Math.max(1, Math.ceil(waitMs / 1000))))
}
