import { Worker } from 'node:worker_threads'
import { programBeside } from '../../../base/programBeside.ts'
import type { PageCheck } from '../../pageCheck.ts'
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

export interface PagesJob {
  readonly file: string
  /** A larger database is not read. */
  readonly pagesMax: number
}

export type InspectionJob = ({ readonly kind: 'sizes' } & SizesJob) | ({ readonly kind: 'pages' } & PagesJob)

/** The tables of a SQLite database. @throws StoreUnavailable if the thread fails */
export const tableSizesInThread = (job: SizesJob): Promise<TableSize[]> => inThread({ kind: 'sizes', ...job })

/** Whether the pages of a SQLite database are sound. @throws StoreUnavailable if the thread fails */
export const checkPagesInThread = (job: PagesJob): Promise<PageCheck> => inThread({ kind: 'pages', ...job })

/** A thread reads, because it may have to read the whole file. */
function inThread<T>(job: InspectionJob): Promise<T> {
  const worker = new Worker(PROGRAM, { workerData: job, name: `inspection: ${job.kind}`, resourceLimits: RESOURCES })
  // It only reads: the process may end meanwhile.
  worker.unref()
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', (cause) => reject(new StoreUnavailable('the database file cannot be read', { cause })))
    worker.once('exit', () => reject(new StoreUnavailable('the database file was not read to its end')))
  })
}
