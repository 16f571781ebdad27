import { Worker } from 'node:worker_threads'
import type { StoreLog } from '../log.ts'
import { StoreUnavailable } from '../store.ts'
import type { FromThread, ThreadSettings, ToThread } from './messages.ts'
import type { Lease, Leases } from './types.ts'

const PROGRAM = new URL('./thread.ts', import.meta.url)
const PULSE_MS = 1_000
const RESTART_MS = 1_000
/** A thread that does not end by itself is ended. */
const CLOSE_MS = 5_000
/** It keeps hardly anything; a leak ends the thread, which is started again, and not the process. */
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

interface Kept {
  readonly lease: Lease
  readonly lost: () => void
}

/**
 * Starts the thread that renews the leases of this process: on a connection of its own, whatever the pool, the queue of
 * writes and the event loop have to do meanwhile. Resolves when it has reached the store.
 * @throws StoreUnavailable when it has not
 */
export async function openLeases(url: string, log: StoreLog): Promise<LeaseThread> {
  const leases = new LeaseThread(url, log)
  try {
    await leases.ready
    return leases
  } catch (error) {
    await leases.close()
    throw error
  }
}

export class LeaseThread implements Leases {
  readonly ready: Promise<void>
  readonly #url: string
  readonly #log: StoreLog
  readonly #pulse = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  readonly #beating: NodeJS.Timeout
  readonly #kept = new Map<string, Kept>()
  readonly #releasing = new Map<string, () => void>()
  #worker: Worker
  #restart: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string, log: StoreLog) {
    this.#url = url
    this.#log = log
    const beats = new Int32Array(this.#pulse)
    this.#beating = setInterval(() => Atomics.add(beats, 0, 1), PULSE_MS).unref()
    this.#worker = this.#start()
    this.ready = this.#firstWord(this.#worker)
    // Whoever opened it hears of it; that nobody waits any more is no fault of ours.
    this.ready.catch(() => undefined)
  }

  keep(lease: Lease, lost: () => void = () => undefined): void {
    this.#kept.set(lease.id, { lease, lost })
    this.#tell({ do: 'keep', lease })
  }

  release(id: string): Promise<void> {
    if (!this.#kept.delete(id) || this.#isThreadGone) return Promise.resolve()
    return new Promise((resolve) => {
      this.#releasing.set(id, resolve)
      this.#tell({ do: 'release', id })
    })
  }

  /** Renews nothing more. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#beating)
    clearTimeout(this.#restart)
    const worker = this.#worker
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    const impatience = setTimeout(() => void worker.terminate(), CLOSE_MS)
    if (this.#isThreadGone) return clearTimeout(impatience)
    this.#tell({ do: 'close' })
    await ended
    clearTimeout(impatience)
  }

  get #isThreadGone(): boolean {
    return this.#worker.threadId === -1
  }

  #start(): Worker {
    const settings: ThreadSettings = { url: this.#url, pulse: this.#pulse }
    const worker = new Worker(PROGRAM, { workerData: settings, name: 'leases', resourceLimits: RESOURCES })
    worker.unref()
    worker.on('message', (message: FromThread) => this.#hear(message))
    worker.on('error', (error) => this.#log.warn({ err: error }, 'the thread that renews leases has failed'))
    worker.on('exit', () => this.#ended())
    return worker
  }

  #ended(): void {
    for (const id of this.#releasing.keys()) this.#released(id)
    if (this.#isClosed) return
    this.#restart = setTimeout(() => {
      this.#worker = this.#start()
      for (const { lease } of this.#kept.values()) this.#tell({ do: 'keep', lease })
    }, RESTART_MS).unref()
  }

  #tell(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
    this.#worker.postMessage(message)
  }

  #hear(message: FromThread): void {
    if (message.say === 'released') this.#released(message.id)
    if (message.say === 'lost') this.#lost(message.id)
    if (message.say !== 'failing') return
    const { reason } = message
    if (reason === null) this.#log.info({}, 'leases are renewed again')
    else this.#log.warn({ reason }, 'leases cannot be renewed now')
  }

  #released(id: string): void {
    this.#releasing.get(id)?.()
    this.#releasing.delete(id)
  }

  #lost(id: string): void {
    const kept = this.#kept.get(id)
    this.#kept.delete(id)
    kept?.lost()
  }

  #firstWord(worker: Worker): Promise<void> {
    return new Promise((resolve, reject) => {
      const unavailable = (why: string): void =>
        reject(new StoreUnavailable(`no connection to renew leases with: ${why}`))
      worker.once('message', (message: FromThread) => {
        if (message.say === 'failing') unavailable(message.reason ?? '')
        else resolve()
      })
      worker.once('exit', () => unavailable('its thread ended'))
    })
  }
}
