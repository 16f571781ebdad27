import { Worker } from 'node:worker_threads'
import type { StoreLog } from '../log.ts'
import type { FromRenewer, RenewerLink, ThreadSettings, ToRenewer } from './messages.ts'
import type { Renewal } from './renewal.ts'

const PROGRAM = new URL('./thread.ts', import.meta.url)
const PULSE_MS = 1_000
const RESTART_MS = 1_000
/** A thread that does not end by itself is ended. */
const CLOSE_MS = 5_000
/** It keeps hardly anything; a leak ends the thread, which is started again, and not the process. */
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 }

/** Renews in a thread, which is started again when it fails. */
export class LeaseThread implements RenewerLink {
  readonly #url: string
  readonly #log: StoreLog
  readonly #heard: (message: FromRenewer) => void
  readonly #pulse = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  readonly #beating: NodeJS.Timeout
  readonly #renewals = new Map<string, Renewal>()
  #worker: Worker
  #ended: Promise<void>
  #restart: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string, log: StoreLog, heard: (message: FromRenewer) => void) {
    this.#url = url
    this.#log = log
    this.#heard = heard
    const beats = new Int32Array(this.#pulse)
    this.#beating = setInterval(() => Atomics.add(beats, 0, 1), PULSE_MS).unref()
    this.#worker = this.#start()
    this.#ended = this.#endOf(this.#worker)
  }

  tell(message: ToRenewer): void {
    if (message.do === 'keep') this.#renewals.set(message.renewal.id, message.renewal)
    if (message.do === 'release') this.#renewals.delete(message.id)
    // Nobody is there to say so.
    if (message.do === 'release' && this.#restart) this.#heard({ say: 'released', id: message.id })
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
    this.#worker.postMessage(message)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#beating)
    clearTimeout(this.#restart)
    const impatience = setTimeout(() => void this.#worker.terminate(), CLOSE_MS)
    this.tell({ do: 'close' })
    await this.#ended
    clearTimeout(impatience)
  }

  #start(): Worker {
    const settings: ThreadSettings = { url: this.#url, renewal: this.#pulse }
    const worker = new Worker(PROGRAM, { workerData: settings, name: 'leases', resourceLimits: RESOURCES })
    worker.unref()
    worker.on('message', (message: FromRenewer) => this.#hear(message))
    worker.on('error', (error) => this.#log.warn({ err: error }, 'the thread that renews leases has failed'))
    return worker
  }

  async #endOf(worker: Worker): Promise<void> {
    await new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    if (this.#isClosed) return
    this.#heard({ say: 'failing', reason: 'the thread that renews leases has ended' })
    this.#restart = setTimeout(() => this.#startAgain(), RESTART_MS).unref()
  }

  #startAgain(): void {
    this.#restart = undefined
    this.#worker = this.#start()
    this.#ended = this.#endOf(this.#worker)
    for (const renewal of this.#renewals.values()) this.tell({ do: 'keep', renewal })
  }

  #hear(message: FromRenewer): void {
    if (message.say === 'lost') this.#renewals.delete(message.id)
    this.#heard(message)
  }
}
