import { Worker } from 'node:worker_threads'
import { programBeside } from '../../../base/programBeside.ts'
import { StoreUnavailable, type TableSize } from '../../store.ts'

const PROGRAM = programBeside('thread', import.meta.url)
/** SQLite has memory of its own. */
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

export interface SizesJob {
  readonly file: string
  /** Of a larger database not all pages are read. */
  readonly pagesMax: number
  /** Of each table of such a database. */
  readonly rowsMax: number
}

/**
 * The tables of a SQLite database. A thread reads them, because it may have to read the whole file.
 * @throws StoreUnavailable if the thread fails
 */
export async function tableSizesInThread(job: SizesJob): Promise<TableSize[]> {
  const worker = new Worker(PROGRAM, { workerData: job, name: 'table sizes', resourceLimits: RESOURCES })
  // It only reads: the process may end meanwhile.
  worker.unref()
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', (cause) => reject(new StoreUnavailable('the tables cannot be measured', { cause })))
    worker.once('exit', () => resolve([]))
  })
}
