import type { Clock } from '../../base/clock.ts'
import type { Launch } from './arguments.ts'

/**
 * The numbers of each engine's processes and segments. They only increase while this server runs: a viewer who stays over
 * a stop and a start must not see a number twice. So two numbers stay in memory for every engine ever started here.
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

  /** The playlists were removed, so the next process begins new ones. */
  restartNumbers(engineId: string): void {
    const next = this.#next.get(engineId)
    if (next) this.#next.set(engineId, { ...next, firstNumber: this.#seconds() })
  }

  /** Seconds increase faster than segment numbers, even while the server is down. */
  #seconds(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}
