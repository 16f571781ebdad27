// The thread that makes a backup beside a server: `new Worker(thread.ts, { workerData: BackupJob })`. SQLite copies a database in
// one call, which would hold up everything that the process serves.
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { BackupJob } from './backupThread.ts'
import { makeBackup, sqliteSource } from './make.ts'

/** On Linux a thread has a priority of its own; elsewhere it would be that of the server. */
function yieldToServer(): void {
  try {
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // A sandbox may forbid it; then the thread runs as it is.
  }
}

yieldToServer()
const { database, ...request } = workerData as BackupJob
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
parentPort?.postMessage(await makeBackup(request, await sqliteSource(database)))
