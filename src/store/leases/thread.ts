// The thread that renews leases: `new Worker(thread.ts, { workerData: ThreadSettings })`. It has its own connection, timers
// and event loop, so that other work of the process cannot delay a renewal.
import { parentPort, workerData } from 'node:worker_threads'
import { postgresConnector } from './connection.ts'
import type { ThreadSettings, ToRenewer } from './messages.ts'
import { Renewer } from './renewer.ts'

/** A process whose event loop is blocked for longer no longer serves, so its leases must expire. */
const BLOCKED_MS = 60_000

const { url, ticks } = workerData as ThreadSettings
const counter = new Int32Array(ticks)
let seen = { ticks: -1, atMs: 0 }

function isHolderAlive(): boolean {
  const now = Atomics.load(counter, 0)
  const atMs = performance.now()
  if (now !== seen.ticks) seen = { ticks: now, atMs }
  return atMs - seen.atMs < BLOCKED_MS
}

const renewer = new Renewer({
  open: await postgresConnector(url),
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
  say: (message) => parentPort?.postMessage(message),
  isHolderAlive,
})
parentPort?.on('message', (message: ToRenewer) => renewer.hear(message))
await renewer.run()
parentPort?.close()
