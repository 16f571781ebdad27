// The thread that measures the tables of a SQLite database: `new Worker(thread.ts, { workerData: SizesJob })`. It posts them when
// it has counted rows up to a bound, and again when it has read every page.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToServer } from '../../../base/yieldingThread.ts'
import type { SizesJob } from './sizesThread.ts'
import { countTables, measureTables } from './tables.ts'

yieldToServer()
const { file, rowsMax, pagesMax } = workerData as SizesJob
const db = new DatabaseSync(file, { readOnly: true })
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
const post = (sizes: unknown): void => parentPort?.postMessage(sizes)
post(countTables(db, rowsMax))
post(measureTables(db, pagesMax))
db.close()
