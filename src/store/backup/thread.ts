// The thread that makes a backup beside a server: `new Worker(thread.ts, { workerData: BackupJob })`. SQLite copies a database in
// one call, which would hold up everything that the process serves.
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToServer } from '../../base/yieldingThread.ts'
import type { BackupJob } from './backupThread.ts'
import { makeBackup, sqliteSource } from './make.ts'

yieldToServer()
const { database, ...request } = workerData as BackupJob
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
parentPort?.postMessage(await makeBackup(request, await sqliteSource(database)))
