import { ok, type Result } from '../../base/result.ts'
import { readCacheLine } from '../../core/usage/cacheLog.ts'
import { type LogLine, LineSplitter } from './lines.ts'
import type { CacheLog } from './logs.ts'
import { PendingLines } from './pending.ts'
import type { CacheReporter, ReporterOptions } from './reporter.ts'

export interface LogReportOptions extends Pick<ReporterOptions, 'note'> {
  readonly everyMs: number
}

/** Reports one log, from where it was counted before up to its end. */
export class LogReport {
  readonly #log: CacheLog
  readonly #reporter: CacheReporter
  readonly #options: LogReportOptions
  #sentMs = performance.now()
  #hasMalformed = false

  constructor(log: CacheLog, reporter: CacheReporter, options: LogReportOptions) {
    this.#log = log
    this.#reporter = reporter
    this.#options = options
  }

  /** The error is a sentence. */
  async run(): Promise<Result<null, string>> {
    const position = await this.#reporter.position(this.#log.id)
    if (!position.ok) return position
    const splitter = new LineSplitter(position.value)
    const pending = new PendingLines(this.#log.id, position.value)
    for await (const chunk of this.#log.read(position.value)) {
      for (const line of splitter.split(chunk)) {
        this.#add(pending, line)
        const sent = pending.isFull ? await this.#send(pending) : ok(null)
        if (!sent.ok) return sent
      }
      const isDue = !pending.isEmpty && performance.now() - this.#sentMs >= this.#options.everyMs
      const sent = isDue ? await this.#send(pending) : ok(null)
      if (!sent.ok) return sent
    }
    return pending.isEmpty ? ok(null) : this.#send(pending)
  }

  #add(pending: PendingLines, { text, end }: LogLine): void {
    const line = text === null ? 'malformed' : readCacheLine(text)
    pending.add(typeof line === 'string' ? null : line, end)
    if (line !== 'malformed' || this.#hasMalformed) return
    this.#hasMalformed = true
    this.#options.note('the log has lines that cannot be read, and do not count. Does the cache cut long paths off?')
  }

  #send(pending: PendingLines): Promise<Result<null, string>> {
    this.#sentMs = performance.now()
    return this.#reporter.send(pending.take())
  }
}
