import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { Throttle } from '../../base/throttle.ts'
import { addressKey } from '../../core/access/address.ts'
import type { PeerOf } from './peer.ts'

/** Read at each use. */
export interface RequestLimitOptions {
  /** Requests of one address with an invalid secret or credential. */
  failedAttemptsPerMinute: number
  /** Requests of one credential to the channels interface; 0: no limit. */
  requestsPerMinute: number
}

/** Each takes about 100 bytes. */
const ADDRESSES_MAX = 20_000
const CREDENTIALS_MAX = 20_000

/**
 * Limits failed authentication per address and requests per credential. A valid secret is always admitted: it cannot be
 * guessed, and a badly configured client must not lock out others at its address. Every result is milliseconds to
 * wait; 0: proceed.
 */
export class RequestLimits {
  readonly #clock: Clock
  readonly #peerOf: PeerOf
  readonly #failed: Throttle
  readonly #requests: Throttle

  constructor(clock: Clock, peerOf: PeerOf, options: RequestLimitOptions) {
    this.#clock = clock
    this.#peerOf = peerOf
    this.#failed = new Throttle(() => options.failedAttemptsPerMinute, ADDRESSES_MAX)
    this.#requests = new Throttle(() => options.requestsPerMinute || Number.POSITIVE_INFINITY, CREDENTIALS_MAX)
  }

  /** Counts a request with an invalid secret or credential. */
  failed(request: FastifyRequest): number {
    const { socket, headers } = request
    const key = addressKey(this.#peerOf(socket.remoteAddress, headers))
    return this.#failed.take(key, this.#clock.monotonic())
  }

  /** Counts a request of a credential. */
  request(credentialId: number): number {
    return this.#requests.take(String(credentialId), this.#clock.monotonic())
  }
}

/** Sets `Retry-After` (RFC 9110 section 10.2.3), in whole seconds. */
export function sayRetryAfter(reply: FastifyReply, waitMs: number): void {
  reply.header('Retry-After', String(Math.max(1, Math.ceil(waitMs / 1000))))
}
