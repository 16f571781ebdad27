// The thread that measures the tables of a SQLite database: `new Worker(thread.ts, { workerData: SizesJob })`.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToServer } from '../../../base/yieldingThread.ts'
import type { SizesJob } from './sizesThread.ts'
import { countTables, measureTables } from './tables.ts'

yieldToServer()
const { file, rowsMax, pagesMax } = workerData as SizesJob
const db = new DatabaseSync(file, { readOnly: true })
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
parentPort?.postMessage(measureTables(db, pagesMax) ?? countTables(db, rowsMax))
db.close()
