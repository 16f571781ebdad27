import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '../../base/errorCode.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { CacheLogBatch } from '../../core/usage/cacheLog.ts'

const ANSWER_MAX_MS = 10_000
const FIRST_PAUSE_MS = 500
const PAUSE_MAX_MS = 15_000
const TEXT_SHOWN = 300

export interface ReporterOptions {
  /** The base URL of a node. */
  readonly url: string
  readonly stop: AbortSignal
  /** Tells the operator that reports fail, or succeed again. Never contains a line of the log. */
  readonly note: (text: string) => void
}

interface Reported {
  readonly isCounted: boolean
  readonly position: number
}

/**
 * Posts batches to a node, one at a time, each until the node has it. A batch that was counted although its answer was lost
 * is not counted again: the node knows the position.
 */
export class CacheReporter {
  readonly #options: ReporterOptions
  #isFailing = false

  constructor(options: ReporterOptions) {
    this.#options = options
  }

  /** Up to where a log is counted. The error is a sentence. */
  async position(log: string): Promise<Result<number, string>> {
    const reported = await this.#post({ log, from: 0, to: 0, sent: [] })
    return reported.ok ? ok(reported.value.position) : reported
  }

  /** The error is a sentence; trying again does not help. */
  async send(batch: CacheLogBatch): Promise<Result<null, string>> {
    const reported = await this.#post(batch)
    if (!reported.ok) return reported
    const { isCounted, position } = reported.value
    if (isCounted || position === batch.to) return ok(null)
    return err('This log was counted further than it was read here. Does another process report it, too?')
  }

  async #post(batch: CacheLogBatch): Promise<Result<Reported, string>> {
    const body = JSON.stringify(batch)
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
      const answer = await this.#once(body)
      if (answer !== null) return answer
      // After a stop there is one attempt for what is left.
      if (this.#options.stop.aborted) return err('The node does not answer; what is left is not reported')
      await delay(pauseMs, undefined, { signal: this.#options.stop }).catch(() => undefined)
    }
  }

  /** Null: try again. */
  async #once(body: string): Promise<Result<Reported, string> | null> {
    try {
      const response = await fetch(new URL('/hls/cache-log', this.#options.url), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        redirect: 'error',
        body,
        signal: AbortSignal.timeout(ANSWER_MAX_MS),
      })
      if (response.ok) return this.#succeeded((await response.json()) as Reported)
      const text = (await response.text()).slice(0, TEXT_SHOWN)
      if (response.status < 500 && response.status !== 429) return err(`${response.status} ${text}`)
      return this.#failed(`${response.status} ${text}`)
    } catch (error) {
      return this.#failed(reasonOf(error))
    }
  }

  #succeeded(reported: Reported): Result<Reported, string> {
    if (this.#isFailing) this.#options.note('the node answers again')
    this.#isFailing = false
    return ok(reported)
  }

  #failed(reason: string): null {
    if (!this.#isFailing) this.#options.note(`the node does not answer, trying again: ${reason}`)
    this.#isFailing = true
    return null
  }
}

/** `fetch` says only that it failed. Its cause says why, and a name with several addresses has a cause of each. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as Error
  return errorText(cause instanceof AggregateError ? cause.errors[0] : cause)
}
