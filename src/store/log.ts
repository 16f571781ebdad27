/** The part of a logger that the store needs; pino's fits. */
export interface StoreLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Logs what a silence of the store means when it begins, when that changes, and when it is over, and not each second. */
export class SilenceLog {
  readonly #log: StoreLog
  #said: 'nothing' | 'from memory' | 'refusing' = 'nothing'

  constructor(log: StoreLog) {
    this.#log = log
  }

  /**
   * @param staleMs for so long memory answers
   * @param error of the latest question
   */
  lasts(silentMs: number, staleMs: number, error: Error): void {
    const now = silentMs > staleMs ? 'refusing' : 'from memory'
    if (now === this.#said) return
    this.#said = now
    const fields = { silentMs: Math.round(silentMs), err: error }
    if (now === 'from memory') this.#log.warn(fields, 'the store is silent; answering from memory')
    else
      this.#log.error(
        fields,
        'the store has been silent for access.staleSeconds; every client is refused until it answers',
      )
  }

  over(silentMs: number): void {
    if (this.#said !== 'nothing') this.#log.info({ silentMs: Math.round(silentMs) }, 'the store answers again')
    this.#said = 'nothing'
  }
}
