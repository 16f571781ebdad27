// The thread that reads all of a SQLite database: `new Worker(thread.ts, { workerData: InspectionJob })`.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToServer } from '../../../base/yieldingThread.ts'
import type { InspectionJob } from './inspectionThread.ts'
import { checkPages } from './pages.ts'
import { countTables, measureTables } from './tables.ts'

yieldToServer()
const job = workerData as InspectionJob
const db = new DatabaseSync(job.file, { readOnly: true })
const found =
  job.kind === 'pages'
    ? checkPages(db, job.pagesMax)
    : (measureTables(db, job.pagesMax) ?? countTables(db, job.rowsMax))
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
parentPort?.postMessage(found)
db.close()
