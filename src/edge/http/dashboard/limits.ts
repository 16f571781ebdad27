import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../../base/clock.ts'
import { Throttle } from '../../../base/throttle.ts'
import { Turns } from '../../../base/turns.ts'
import { addressKey } from '../../../core/access/address.ts'
import { emailOf } from '../../../core/users/rules.ts'
import type { PeerOf } from '../peer.ts'

/** Room for typing errors of several people behind one address. */
const FAILED_OF_ADDRESS_PER_MINUTE = 30

/** Room for typing errors of one person; 14,400 guesses a day from any number of addresses. */
const FAILED_OF_USER_PER_MINUTE = 10

/** Each takes about 100 bytes. */
const KEYS_MAX = 20_000

/**
 * A check of a password takes 32 MiB and a whole core for as long as it runs. One at a time, so that a flood of attempts
 * leaves the second core of a small machine to media. The last of the queue waits for a few seconds.
 */
const PASSWORDS = { atOnce: 1, waitingMax: 32 }

/**
 * Limits attempts to sign in, before the password is checked: an attempt counts until it succeeded. Sessions that exist
 * are not affected.
 */
export class SignInLimits {
  readonly #clock: Clock
  readonly #peerOf: PeerOf
  readonly #addresses = new Throttle(FAILED_OF_ADDRESS_PER_MINUTE, KEYS_MAX)
  readonly #users = new Throttle(FAILED_OF_USER_PER_MINUTE, KEYS_MAX)
  readonly #passwords = new Turns(PASSWORDS)

  constructor(clock: Clock, peerOf: PeerOf) {
    this.#clock = clock
    this.#peerOf = peerOf
  }

  /**
   * Runs an attempt. Milliseconds to wait instead, when too many have failed or wait.
   * @param who the e-mail address that is tried; null: none
   */
  async attempt<T extends { ok: boolean }>(
    request: FastifyRequest,
    who: string | null,
    work: () => Promise<T>,
  ): Promise<T | number> {
    const address = addressKey(this.#peerOf(request.socket.remoteAddress, request.headers))
    const user = who === null ? null : emailOf(who)
    const wait = this.#take(address, user)
    if (wait > 0) return wait
    const done = await this.#passwords.run(work)
    if (done === null || done.ok) this.#giveBack(address, user)
    return done ?? 1000
  }

  #take(address: string, user: string | null): number {
    const nowMs = this.#clock.monotonic()
    const ofAddress = this.#addresses.take(address, nowMs)
    if (ofAddress > 0) return ofAddress
    const ofUser = user === null ? 0 : this.#users.take(user, nowMs)
    if (ofUser > 0) this.#addresses.giveBack(address)
    return ofUser
  }

  #giveBack(address: string, user: string | null): void {
    this.#addresses.giveBack(address)
    if (user !== null) this.#users.giveBack(user)
  }
}
