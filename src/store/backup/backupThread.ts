import { addAbortListener } from 'node:events'
import { Worker } from 'node:worker_threads'
import { programBeside } from '../../base/programBeside.ts'
import { err, type Result } from '../../base/result.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import type { BackupRequest } from './make.ts'
import type { Manifest } from './manifest.ts'

const PROGRAM = programBeside('thread', import.meta.url)
/** SQLite has memory of its own. */
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

/** A backup of a SQLite database. */
export interface BackupJob extends BackupRequest {
  readonly database: string
}

/** Makes a backup in a thread, until `stop` breaks it off. Never rejects. @returns as `makeBackup` */
export function makeBackupInThread(job: BackupJob, stop: AbortSignal): Promise<Result<Manifest, Said>> {
  const worker = new Worker(PROGRAM, { workerData: job, name: 'backup', resourceLimits: RESOURCES })
  // Also if it is aborted already.
  const stopping = addAbortListener(stop, () => void worker.terminate())
  return new Promise((resolve) => {
    worker.once('message', resolve)
    worker.once('error', (error) => resolve(err(say(coded('backup_failed', { text: error.message })))))
    worker.once('exit', () => {
      stopping[Symbol.dispose]()
      resolve(err(say(coded('backup_broken_off'))))
    })
  })
}
