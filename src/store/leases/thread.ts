// The thread that renews leases: `new Worker(thread.ts, { workerData: ThreadSettings })`. It has a connection, timers and
// an event loop of its own, so that nothing else that the process does delays a renewal.
import { parentPort, workerData } from 'node:worker_threads'
import { connectPostgres } from './connection.ts'
import type { ThreadSettings, ToRenewer } from './messages.ts'
import { Renewer } from './renewer.ts'

/** A process whose event loop stands still for longer does not serve any more. */
const STANDS_STILL_MS = 60_000

const { url, renewal: pulse } = workerData as ThreadSettings
const beats = new Int32Array(pulse)
let seen = { beats: -1, atMs: 0 }

function isHolderAlive(): boolean {
  const now = Atomics.load(beats, 0)
  const atMs = performance.now()
  if (now !== seen.beats) seen = { beats: now, atMs }
  return atMs - seen.atMs < STANDS_STILL_MS
}

const renewer = new Renewer({
  open: () => connectPostgres(url),
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
  say: (message) => parentPort?.postMessage(message),
  isHolderAlive,
})
parentPort?.on('message', (message: ToRenewer) => renewer.hear(message))
await renewer.run()
parentPort?.close()
