import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../../base/clock.ts'
import { Throttle } from '../../../base/throttle.ts'
import { Turns } from '../../../base/turns.ts'
import { addressKey, networkKey } from '../../../core/access/address.ts'
import { emailOf } from '../../../core/users/rules.ts'
import type { PeerOf } from '../peer.ts'

/** Room for typing errors of several people behind one address. */
const FAILED_OF_ADDRESS_PER_MINUTE = 30
/** Those of four addresses, of which the network of an IPv6 client has 65,536. */
const FAILED_OF_NETWORK_PER_MINUTE = 120

/**
 * Room for typing errors of one person: of a user from one address, of a browser that signed in before, of a session.
 * There is no limit for a user over all addresses, because strangers could use it up. What bounds their guesses is that one
 * password is checked at a time.
 */
const FAILED_OF_USER_PER_MINUTE = 5

/** Each takes about 100 bytes. */
const KEYS_MAX = 20_000

/**
 * A check of a password takes 32 MiB and a whole core for as long as it runs. One at a time, so that a flood of attempts
 * leaves the second core of a small machine to media. The last of a queue waits for a few seconds.
 */
const PASSWORDS = { atOnce: 1, waitingMax: 32, waitingOfOriginMax: 8 }

/** An attempt that answers at once, because there is no room for it. */
const QUEUE_WAIT_MS = 1000

/** What an attempt to sign in brings. */
export type Attempt =
  /** A password. `browser`: the valid sign of a browser in which this user signed in before; null: none. */
  | { readonly kind: 'password'; readonly email: string; readonly browser: string | null }
  /** The password of a user who is signed in. */
  | { readonly kind: 'confirmation'; readonly userId: number }
  /** The password of a user whom a signed-in user makes, which cannot be wrong. */
  | { readonly kind: 'creation'; readonly userId: number }
  /** A passkey: its check costs no more than other requests. */
  | { readonly kind: 'passkey' }
  /** A one-time link: only a valid one has a password made. */
  | { readonly kind: 'link' }

/** A budget that an attempt takes from, before anything is checked. */
type Budget = readonly [throttle: Throttle, key: string]

/**
 * Limits attempts to sign in, before anything is checked: an attempt counts until it succeeded. No client can use up the
 * attempts of others: strangers have budgets by address and turns by network, known browsers and signed-in users their own. Those that
 * succeed without end, and users who are created, leave turns to strangers too.
 * Passkeys and links wait for no password. Sessions that exist are not affected.
 */
export class SignInLimits {
  readonly #clock: Clock
  readonly #peerOf: PeerOf
  readonly #addresses = new Throttle(FAILED_OF_ADDRESS_PER_MINUTE, KEYS_MAX)
  readonly #networks = new Throttle(FAILED_OF_NETWORK_PER_MINUTE, KEYS_MAX)
  readonly #usersAtAddress = new Throttle(FAILED_OF_USER_PER_MINUTE, KEYS_MAX)
  readonly #known = new Throttle(FAILED_OF_USER_PER_MINUTE, KEYS_MAX)
  readonly #passwords = new Turns(PASSWORDS)
  readonly #links = new Turns(PASSWORDS)

  constructor(clock: Clock, peerOf: PeerOf) {
    this.#clock = clock
    this.#peerOf = peerOf
  }

  /** Runs an attempt. Milliseconds to wait instead, when too many have failed or wait. */
  async attempt<T extends { ok: boolean }>(
    request: FastifyRequest,
    attempt: Attempt,
    work: () => Promise<T>,
  ): Promise<T | number> {
    const address = addressKey(this.#peerOf(request.socket.remoteAddress, request.headers))
    const budgets = this.#budgetsOf(attempt, address)
    const waitMs = this.#take(budgets)
    if (waitMs > 0) return waitMs
    const done = await this.#run(attempt, address, work)
    if (done === null || done.ok) for (const [throttle, key] of budgets) throttle.giveBack(key)
    return done ?? QUEUE_WAIT_MS
  }

  #budgetsOf(attempt: Attempt, address: string): Budget[] {
    if (attempt.kind === 'creation') return []
    if (attempt.kind === 'confirmation') return [[this.#known, `user ${attempt.userId}`]]
    // Of its own, so that wrong passwords of a neighbour behind the same address do not refuse it.
    if (attempt.kind !== 'password') return [[this.#addresses, `${attempt.kind} ${address}`]]
    const { email, browser } = attempt
    if (browser !== null) return [[this.#known, browser]]
    const network = networkKey(address)
    return [
      ...(network === null ? [] : [[this.#networks, network] as const]),
      [this.#addresses, address],
      [this.#usersAtAddress, `${address} ${emailOf(email)}`],
    ]
  }

  #run<T>(attempt: Attempt, address: string, work: () => Promise<T>): Promise<T | null> {
    switch (attempt.kind) {
      case 'passkey':
        return work()
      case 'link':
        return this.#links.run({ key: address, isFirst: false }, work)
      case 'confirmation':
      case 'creation':
        return this.#passwords.run({ key: `user ${attempt.userId}`, isFirst: true }, work)
      case 'password': {
        const { browser } = attempt
        const key = browser ?? networkKey(address) ?? address
        return this.#passwords.run({ key, isFirst: browser !== null }, work)
      }
    }
  }

  /** Takes from all budgets, or from none. */
  #take(budgets: readonly Budget[]): number {
    const nowMs = this.#clock.monotonic()
    for (const [at, [throttle, key]] of budgets.entries()) {
      const waitMs = throttle.take(key, nowMs)
      if (waitMs === 0) continue
      for (const [taken, of] of budgets.slice(0, at)) taken.giveBack(of)
      return waitMs
    }
    return 0
  }
}
