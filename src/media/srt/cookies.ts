import { hmacKey, hmacSha256 } from '../../base/crypto.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'

const PERIOD_MS = 60_000

/** Cookies prove that a caller receives what is sent to its address. They need no memory of it. */
export class Cookies {
  readonly #key
  readonly #clock: Pick<Clock, 'monotonic'>

  constructor(random: Random, clock: Pick<Clock, 'monotonic'>) {
    this.#key = hmacKey(random.bytes(32))
    this.#clock = clock
  }

  /** @param endpoint address and port of the caller */
  make(endpoint: string): number {
    return this.#cookie(endpoint, this.#period())
  }

  /** Whether it was made for this endpoint in this minute or the last one. */
  isRight(endpoint: string, cookie: number): boolean {
    const period = this.#period()
    return cookie === this.#cookie(endpoint, period) || cookie === this.#cookie(endpoint, period - 1)
  }

  #period(): number {
    return Math.floor(this.#clock.monotonic() / PERIOD_MS)
  }

  #cookie(endpoint: string, period: number): number {
    return hmacSha256(this.#key, `${period} ${endpoint}`).readUInt32BE(0)
  }
}
