import type { Clock } from '../../base/clock.ts'
import type { Launch } from './arguments.ts'

/**
 * The numbers of each engine's processes and segments, which go up as long as this server runs: whoever watches over a
 * stop and a start must not see one again. So two numbers are kept for every engine that was ever started here.
 */
export class Launches {
  readonly #clock: Pick<Clock, 'now'>
  readonly #next = new Map<string, Launch>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  next(engineId: string): Launch {
    const { launch, firstNumber } = this.#next.get(engineId) ?? { launch: 0, firstNumber: this.#seconds() }
    this.#next.set(engineId, { launch: launch + 1, firstNumber })
    return { launch, firstNumber }
  }

  /** The playlists are gone: the next process begins new ones. */
  anew(engineId: string): void {
    const known = this.#next.get(engineId)
    if (known) this.#next.set(engineId, { ...known, firstNumber: this.#seconds() })
  }

  /** They go by faster than segments, also while the server is not there. */
  #seconds(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}
