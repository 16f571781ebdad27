import type { Clock } from '../../base/clock.ts'
import { Lru } from '../../base/lru.ts'
import { type FirstNumbers, firstNumbers } from '../../core/hls/numbers.ts'

/** Far more streams than a node has. */
const KEPT = 10_000

/** Where the streams of this node begin to count, so that the numbers of a stream never fall when it begins again. */
export class StreamNumbers {
  readonly #clock: Clock
  readonly #nextDiscontinuity = new Lru<string, number>(KEPT)
  #least = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** From now on no stream begins with a discontinuity below this. */
  raise(discontinuity: number): void {
    this.#least = discontinuity
  }

  /** @param name that of the stream before which this one continues, if there was one */
  begin(name: string): FirstNumbers {
    const first = firstNumbers(this.#clock.now())
    const discontinuity = Math.max(first.discontinuity, this.#least, this.#nextDiscontinuity.get(name) ?? 0)
    return { ...first, discontinuity }
  }

  /** A stream is over. @param next the first discontinuity that it has not used */
  ended(name: string, next: number): void {
    this.#nextDiscontinuity.set(name, Math.max(next, this.#nextDiscontinuity.get(name) ?? 0))
  }
}
