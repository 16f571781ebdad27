// The thread that reads a SQLite database for reports: `new Worker(thread.ts, { workerData: file })`.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ReportPart, ReportQuestion } from './reportReader.ts'

/** Takes about a millisecond to receive, also with wide texts. */
const PART_ROWS = 200

const db = new DatabaseSync(workerData as string, { readOnly: true, timeout: 5_000 })
db.exec('pragma temp_store = memory; pragma cache_size = -16384')

let rows: unknown[][] = []
let columns: string[] = []

function read({ sql, parameters }: NonNullable<ReportQuestion>): void {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  columns = statement.columns().map(({ name }) => name)
  rows = statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][]
}

function partOf(question: ReportQuestion): ReportPart {
  try {
    if (question !== null) read(question)
    return { columns, rows: rows.splice(0, PART_ROWS), hasMore: rows.length > 0 }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: unknown }
    return { message, errcode }
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
parentPort?.on('message', (question: ReportQuestion) => parentPort?.postMessage(partOf(question)))
