import { Allowance } from './allowance.ts'
import type { Clock } from './clock.ts'
import type { Fields, Logger } from './log.ts'

/**
 * A logger for lines that remote clients cause. It writes a limited number per minute, at once or spread out, so
 * that clients cannot fill the disk. The next written line reports how many lines were dropped. Errors are our own
 * and are always written.
 */
export class SampledLog implements Logger {
  /** The number of dropped lines so far. */
  leftOut = 0
  readonly #log: Logger
  readonly #clock: Clock
  readonly #allowance: Allowance
  #unreported = 0

  constructor(log: Logger, clock: Clock, perMinute: number) {
    this.#log = log
    this.#clock = clock
    this.#allowance = new Allowance({ burst: perMinute, perSecond: perMinute / 60 })
  }

  debug(fields: Fields, message: string): void {
    this.#write('debug', fields, message)
  }

  info(fields: Fields, message: string): void {
    this.#write('info', fields, message)
  }

  warn(fields: Fields, message: string): void {
    this.#write('warn', fields, message)
  }

  error(fields: Fields, message: string): void {
    this.#log.error(fields, message)
  }

  /** The child shares the budget of its parent. */
  child(fields: Fields): Logger {
    const write = (level: 'debug' | 'info' | 'warn') => (own: Fields, message: string) =>
      this.#write(level, { ...fields, ...own }, message)
    return {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: (own, message) => this.error({ ...fields, ...own }, message),
      child: (own) => this.child({ ...fields, ...own }),
    }
  }

  #write(level: 'debug' | 'info' | 'warn', fields: Fields, message: string): void {
    if (!this.#allowance.take(this.#clock.monotonic())) {
      this.leftOut += 1
      this.#unreported += 1
      return
    }
    this.#log[level](this.#unreported === 0 ? fields : { ...fields, leftOut: this.#unreported }, message)
    this.#unreported = 0
  }
}
