import { CACHE_TICKETS_MAX, type CacheLine, type CacheLogBatch, type SentByCache } from '../../core/usage/cacheLog.ts'

/** Of tickets and streams in one batch: with the rest it stays below the default `server.bodyLimitBytes`. */
const TEXT_MAX = 512 * 1024
const ANSWERS_MAX = 500_000

/** Lines that are read and not reported yet, summed by ticket and stream. */
export class PendingLines {
  readonly #log: string
  #from: number
  #to: number
  #sent = new Map<string, SentByCache>()
  #text = 0
  #answers = 0

  constructor(log: string, position: number) {
    this.#log = log
    this.#from = position
    this.#to = position
  }

  get isEmpty(): boolean {
    return this.#to === this.#from
  }

  get isFull(): boolean {
    return this.#sent.size >= CACHE_TICKETS_MAX || this.#text >= TEXT_MAX || this.#answers >= ANSWERS_MAX
  }

  /** @param line null: it counts nothing
   * @param end the position after it
   */
  add(line: CacheLine | null, end: number): void {
    this.#to = end
    if (line === null) return
    const key = `${line.ticket} ${line.stream}`
    const sum = this.#sent.get(key)
    if (sum === undefined) this.#text += key.length
    this.#answers += 1
    this.#sent.set(key, { ...line, answers: 1 + (sum?.answers ?? 0), bytes: line.bytes + (sum?.bytes ?? 0) })
  }

  take(): CacheLogBatch {
    const batch = { log: this.#log, from: this.#from, to: this.#to, sent: [...this.#sent.values()] }
    this.#from = this.#to
    this.#sent = new Map()
    this.#text = 0
    this.#answers = 0
    return batch
  }
}
