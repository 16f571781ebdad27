import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { programBeside } from '../../../base/programBeside.ts'
import { sqliteDialect } from '../../dialects.ts'
import { type QueryAnswer, type Query, Executor } from '../../executor.ts'
import { StoreUnavailable } from '../../store.ts'
import { named } from '../connection.ts'
import { translateSqliteError } from '../errors.ts'

const PROGRAM = programBeside('thread', import.meta.url)
/** SQLite has memory of its own. */
const RESOURCES = { maxOldGenerationSizeMb: 512 }
/** A thread takes some 10 MB, and a moment to start. */
const IDLE_MS = 30_000
const QUEUE_MAX = 1_000

/** A query; null: the next rows of the one before. */
export type ReportQuestion = Pick<Query, 'sql' | 'parameters'> | null

/** Some rows of an answer, or why there is none. */
export type ReportPart =
  | { readonly columns: readonly string[]; readonly rows: readonly unknown[][]; readonly hasMore: boolean }
  | { readonly message: string; readonly errcode: unknown }

/**
 * Reads for reports, in a thread that is there while they come: SQLite works in the thread that asks, and may take a second for
 * years of usage. One query at a time, and few rows in a turn of the event loop.
 */
export class ReportReader extends Executor {
  readonly #file: string
  #worker: Worker | undefined
  #part: PromiseWithResolvers<ReportPart> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(file: string) {
    super(sqliteDialect)
    this.#file = file
  }

  override execute(query: Query): Promise<QueryAnswer> {
    if (this.#waiting >= QUEUE_MAX) return Promise.reject(new StoreUnavailable('too many reports are waiting'))
    this.#waiting += 1
    const answer = this.#last.then(() => this.#read(query)).finally(() => (this.#waiting -= 1))
    this.#last = answer.catch(() => undefined)
    return answer
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    this.#part?.reject(new StoreUnavailable('the store is closed'))
    await this.#end()
  }

  async #read({ sql, parameters }: Query): Promise<QueryAnswer> {
    clearTimeout(this.#idle)
    const rows: object[] = []
    try {
      for (let question: ReportQuestion = { sql, parameters }; ; question = null) {
        const part = await this.#ask(question)
        // Messages that come fast would be heard in one turn of the event loop.
        await nextTurn()
        if ('message' in part) throw translateSqliteError(Object.assign(new Error(part.message), part))
        for (const values of part.rows) rows.push(named(values, part.columns))
        if (!part.hasMore) return { rows, changed: rows.length }
      }
    } finally {
      // It only reads: the process may end meanwhile.
      this.#worker?.unref()
      this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref()
    }
  }

  #ask(question: ReportQuestion): Promise<ReportPart> {
    if (this.#isClosed) throw new StoreUnavailable('the store is closed')
    this.#part = Promise.withResolvers()
    this.#worker ??= this.#start()
    this.#worker.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
    this.#worker.postMessage(question)
    return this.#part.promise
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { workerData: this.#file, name: 'reports', resourceLimits: RESOURCES })
    const ended = (cause?: unknown): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#part?.reject(new StoreUnavailable('the thread that reads for reports has ended', { cause }))
    }
    worker.on('message', (part: ReportPart) => this.#part?.resolve(part))
    worker.once('error', ended)
    worker.once('exit', () => ended())
    return worker
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}
