import { mediaProcessCount } from '../../../base/processors.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../base/log.ts'
import { HeldPorts } from './heldPorts.ts'
import { MediaHosts, type HostsOptions } from './hosts.ts'
import type { FromRelay, RelaySettings } from './messages.ts'
import { type ProcessDeath, Worker, type WorkerOptions } from './worker.ts'

export interface RelayConfig extends Omit<RelaySettings, 'port'> {
  /** Addresses and host names for our candidates; read again every few seconds. */
  readonly publicAddresses: readonly string[]
  /** UDP port of the first process; the others take those that follow. 0: any that are free. */
  readonly udpPort: number
  /** 0: one less than there are cores, and at least one. */
  readonly processes: number
}

/** A relay process, as the engine uses it. */
export type RelayProcess = Pick<Worker, 'ready' | 'call' | 'post' | 'stop' | 'linkPort'>

export interface ProcessPoolOptions {
  readonly log: Logger
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  readonly config: RelayConfig
  /** Every address of a host name. Absent: names have none. */
  readonly resolve?: HostsOptions['resolve']
  /** Starts a process. Absent: forks `process.ts`. */
  readonly startProcess?: (options: WorkerOptions) => RelayProcess
  /** Called for each message of a process that is not an answer. */
  readonly received: (index: number, message: FromRelay) => void
  /** A process has ended by itself; `running` does not have it any more. */
  readonly died: (index: number, death: ProcessDeath) => void
}

/** A process that died is not started again before this time. */
const PAUSE_MS = 1000
/** How often the addresses of this machine are looked at. */
const LOOK_MS = 3000

interface Slot {
  readonly index: number
  worker: RelayProcess | null
  /** The sessions that this turn ends. */
  ending: { readonly sessionIds: string[]; readonly done: Promise<unknown> } | null
  notBeforeMs: number
}

/**
 * The processes of an engine, by index from 0 on. Each starts when it is first needed, with the addresses of this machine, and again
 * after it has died: an idle server has none.
 */
export class ProcessPool {
  readonly #options: ProcessPoolOptions
  readonly #slots: readonly Slot[]
  readonly #hosts: MediaHosts
  readonly #ports = new HeldPorts()
  #looking: NodeJS.Timeout | undefined
  #looked: Promise<void> | null = null
  #isOpen = true

  constructor(options: ProcessPoolOptions) {
    this.#options = options
    const { config, resolve = async () => [], now, log } = options
    const { host } = config
    this.#hosts = new MediaHosts({ host, publicAddresses: () => config.publicAddresses, resolve, now, log })
    this.#slots = Array.from({ length: mediaProcessCount(config.processes) }, (_, index) => ({
      index,
      worker: null,
      ending: null,
      notBeforeMs: 0,
    }))
  }

  /** The most processes at a time. */
  get size(): number {
    return this.#slots.length
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The processes that run. */
  get running(): RelayProcess[] {
    return this.#slots.flatMap(({ worker }) => worker ?? [])
  }

  /** Lets processes start, also after `close`. Holds the ports of those that do not run, so that no other program takes them. */
  async open(): Promise<void> {
    this.#isOpen = true
    const { host } = this.#options.config
    const waiting = this.#slots.filter(({ worker }) => worker === null)
    await Promise.all(waiting.map((slot) => this.#ports.hold(host, this.#portOf(slot))))
  }

  /** Starts no process any more. Those that run go on until `stop`. */
  close(): void {
    this.#isOpen = false
    this.#ports.releaseAll()
    clearInterval(this.#looking)
    this.#looking = undefined
    this.#looked = null
  }

  async stop(): Promise<void> {
    await Promise.all(this.running.map((worker) => worker.stop()))
  }

  /** Follows the addresses of this machine from the first call on. Resolves when names have been resolved, or could not be. */
  follow(): Promise<void> {
    if (!this.#isOpen) return Promise.resolve()
    this.#looking ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    return (this.#looked ??= this.#hosts.look())
  }

  /** The process, if it runs. */
  at(index: number): RelayProcess | null {
    return this.#slotAt(index).worker
  }

  /** The process, which starts when there is none. Null: it is too soon after it has died, or the pool is closed. */
  startAt(index: number): RelayProcess | null {
    const slot = this.#slotAt(index)
    if (slot.worker !== null) return slot.worker
    if (!this.#isOpen || this.#options.now() < slot.notBeforeMs) return null
    void this.follow()
    slot.worker = this.#start(slot)
    return slot.worker
  }

  /** What needs a process right after it has died waits. One millisecond more: a timer may be a fraction early. */
  async pause(index: number): Promise<void> {
    const slot = this.#slotAt(index)
    const leftMs = slot.notBeforeMs - this.#options.now()
    if (slot.worker === null && leftMs > 0) await sleep(Math.min(Math.ceil(leftMs), PAUSE_MS) + 1)
  }

  /** The ends of a turn are one message: the process stops the media of all before it ends the first. */
  async end(index: number, sessionId: string): Promise<void> {
    const slot = this.#slotAt(index)
    const ending = (slot.ending ??= { sessionIds: [], done: Promise.resolve().then(() => sendEnds(slot)) })
    ending.sessionIds.push(sessionId)
    await ending.done
  }

  /** Posts also what has not changed: an address may not have been ready when it was new. */
  async #look(): Promise<void> {
    await this.#hosts.look()
    for (const worker of this.running) worker.post(this.#hosts.current)
  }

  #slotAt(index: number): Slot {
    const slot = this.#slots[index]
    if (slot === undefined) throw new Error(`there is no process ${index}`)
    return slot
  }

  /** 0: any. */
  #portOf({ index }: Slot): number {
    const { udpPort } = this.#options.config
    return udpPort === 0 ? 0 : udpPort + index
  }

  #start(slot: Slot): RelayProcess {
    const { config, log, now, received, died, startProcess = (options) => new Worker(options) } = this.#options
    const { udpPort: _, processes: __, ...settings } = config
    const port = this.#portOf(slot)
    this.#ports.release(port)
    return startProcess({
      settings: {
        ...settings,
        publicAddresses: this.#hosts.current.publicAddresses,
        port,
        ...(this.size > 1 && { process: slot.index }),
      },
      log,
      now,
      received: (message) => received(slot.index, message),
      died: (death) => {
        slot.worker = null
        slot.notBeforeMs = now() + PAUSE_MS
        died(slot.index, death)
      },
    })
  }
}

async function sendEnds(slot: Slot): Promise<void> {
  const { sessionIds = [] } = slot.ending ?? {}
  slot.ending = null
  await slot.worker?.call('end', { sessionIds })
}
