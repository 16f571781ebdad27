import type { Clock } from './clock.ts'
import type { Fields, Logger } from './log.ts'
import { Throttle } from './throttle.ts'

/**
 * A logger for lines that strangers cause: so many a minute, all at once or spread out, so that they cannot fill the
 * disk. What is left out is counted, and the next line says how many it stands for. Errors are ours and always written.
 */
export class SampledLog implements Logger {
  /** Lines that were left out so far. */
  leftOut = 0
  readonly #log: Logger
  readonly #clock: Clock
  readonly #throttle: Throttle
  #untold = 0

  constructor(log: Logger, clock: Clock, perMinute: number) {
    this.#log = log
    this.#clock = clock
    this.#throttle = new Throttle(perMinute, 1)
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

  /** Shares the budget. */
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
    if (this.#throttle.take('', this.#clock.monotonic()) > 0) {
      this.leftOut += 1
      this.#untold += 1
      return
    }
    this.#log[level](this.#untold === 0 ? fields : { ...fields, leftOut: this.#untold }, message)
    this.#untold = 0
  }
}
