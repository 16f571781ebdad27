import { Worker } from 'node:worker_threads'
import { programBeside } from '../../base/programBeside.ts'
import type { StoreLog } from '../log.ts'
import type { FromRenewer, RenewerLink, ThreadSettings, ToRenewer } from './messages.ts'
import type { Renewal } from './renewal.ts'

const PROGRAM = programBeside('thread', import.meta.url)
const TICK_MS = 1_000
const RESTART_MS = 1_000
/** A thread that has not ended after this time is terminated. */
const CLOSE_MS = 5_000
/** The thread needs little memory. A leak then ends only the thread, which is restarted, and not the process. */
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 }

/** Renews leases in a thread, which is restarted when it fails. */
export class LeaseThread implements RenewerLink {
  readonly #url: string
  readonly #log: StoreLog
  readonly #givenUp: AbortSignal
  readonly #onMessage: (message: FromRenewer) => void
  readonly #ticks = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  readonly #ticking: NodeJS.Timeout
  readonly #renewals = new Map<string, Renewal>()
  /** What the thread has not confirmed. */
  readonly #releasing = new Set<string>()
  #worker: Worker
  #ended: Promise<void>
  #restart: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string, log: StoreLog, givenUp: AbortSignal, onMessage: (message: FromRenewer) => void) {
    this.#url = url
    this.#log = log
    this.#givenUp = givenUp
    this.#onMessage = onMessage
    const ticks = new Int32Array(this.#ticks)
    this.#ticking = setInterval(() => Atomics.add(ticks, 0, 1), TICK_MS).unref()
    this.#worker = this.#start()
    this.#ended = this.#endOf(this.#worker)
  }

  post(message: ToRenewer): void {
    if (message.do === 'keep') this.#renewals.set(message.renewal.id, message.renewal)
    if (message.do === 'release') {
      this.#renewals.delete(message.id)
      this.#releasing.add(message.id)
      if (this.#restart) this.#allReleased()
    }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
    this.#worker.postMessage(message)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#ticking)
    clearTimeout(this.#restart)
    const timeout = setTimeout(() => void this.#worker.terminate(), this.#givenUp.aborted ? 0 : CLOSE_MS)
    this.post({ do: 'close' })
    await this.#ended
    clearTimeout(timeout)
  }

  #start(): Worker {
    const settings: ThreadSettings = { url: this.#url, ticks: this.#ticks }
    const worker = new Worker(PROGRAM, { workerData: settings, name: 'leases', resourceLimits: RESOURCES })
    worker.unref()
    worker.on('message', (message: FromRenewer) => this.#received(message))
    worker.on('error', (error) => this.#log.warn({ err: error }, 'the thread that renews leases has failed'))
    return worker
  }

  async #endOf(worker: Worker): Promise<void> {
    await new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    if (this.#isClosed) return
    const reason = 'the thread that renews leases has ended'
    this.#onMessage({ say: 'failing', reason })
    this.#onMessage({ say: 'neverReady', reason })
    this.#allReleased()
    this.#restart = setTimeout(() => this.#startAgain(), RESTART_MS).unref()
  }

  #startAgain(): void {
    this.#restart = undefined
    this.#worker = this.#start()
    this.#ended = this.#endOf(this.#worker)
    for (const renewal of this.#renewals.values()) this.post({ do: 'keep', renewal })
  }

  /** No thread runs: nothing is renewed, and no other one confirms it. */
  #allReleased(): void {
    for (const id of this.#releasing) this.#onMessage({ say: 'released', id })
    this.#releasing.clear()
  }

  #received(message: FromRenewer): void {
    if (message.say === 'lost') this.#renewals.delete(message.id)
    if (message.say === 'released') this.#releasing.delete(message.id)
    this.#onMessage(message)
  }
}
