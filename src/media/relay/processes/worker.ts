import { type ChildProcess, fork } from 'node:child_process'
import { childEnvironment } from '../../../base/childEnvironment.ts'
import { LateLooks } from '../../../base/lateLooks.ts'
import type { Logger } from '../../../base/log.ts'
import { type ProcessLooks, processorTimeOf, Starvation } from '../../../base/processors.ts'
import { programBeside } from '../../../base/programBeside.ts'
import { walled } from '../../../base/walls.ts'
import { BEAT_MS, type FromRelay, type RelayCalls, type RelaySettings, type ToRelay } from './messages.ts'

export interface ProcessDeath {
  /** For the log. */
  readonly detail: string
  /** It sent nothing any more, and was killed. */
  readonly isHung: boolean
}

export interface WorkerOptions {
  readonly settings: RelaySettings
  readonly log: Logger
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** Called for each message that is not an answer. */
  readonly received: (message: FromRelay) => void
  /** The process has ended. Called once, also if it could not be started. */
  readonly died: (death: ProcessDeath) => void
  /** A process that is silent for this long is killed. Absent: `HUNG_MS`. */
  readonly hungMs?: number
  /** Starts the program. Absent: forks the program beside this module. */
  readonly start?: () => ChildProcess
  /** What is known of the process. Absent: what the system says. */
  readonly looks?: ProcessLooks
}

const PROGRAM = programBeside('process', import.meta.url)
/** How long a process may do nothing before it listens. Where its processor time is not known, how long it may take. */
const START_MS = 15_000
/** A process that has used this much without listening runs in circles: a start takes half a second of it. */
const START_CPU_MS = 60_000
/** How long a process may take to answer. */
const ANSWER_MS = 5000
/** Eight beats. */
const HUNG_MS = 8000
/** A process that has used this much since it said something runs in circles: it gets through its loop in far less. */
const HUNG_CPU_MS = 2000
/** So long it may be silent before it is looked at. */
const SILENCE_MS = 2 * BEAT_MS
const TAIL_CHARACTERS = 2000
/**
 * By default the young generation of the heap grows to 96 MB; 12 MB serve as well and cost no more CPU per packet. The old
 * generation is then collected more often, and with it the keys and ciphers of ended sessions, which lie outside the heap.
 */
const NODE_ARGS = ['--max-semi-space-size=4']

function forkProgram(): ChildProcess {
  // It does not inherit our environment: a guard that watches our parent would take the IPC channel for its own.
  const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const
  const env = childEnvironment()
  return fork(PROGRAM, [], { serialization: 'advanced', execArgv: NODE_ARGS, env, stdio: [...stdio] })
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly sinceMs: number
}

/**
 * One relay process, from its start to its end. It is *starting* until it says that it is ready. On a busy machine that
 * takes its time, so it may as long as it uses the processor, and for `START_MS` without. Then it sends beats. If nothing
 * comes from it for `HUNG_MS` in which it did not just wait for a processor, it hangs, and is killed.
 */
export class Worker {
  readonly #options: WorkerOptions
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #ready: Promise<boolean>
  readonly #gone: Promise<void>
  readonly #looks: LateLooks
  readonly #looking: NodeJS.Timeout
  /** Where links to it go, once it is ready; null: nowhere. */
  linkPort: number | null = null
  #heardAtMs: number
  /** See `Starvation.countsSince`. */
  #countsSinceMs = Number.NEGATIVE_INFINITY
  readonly #starvation: Starvation
  /** How long it may be silent. */
  #silentMs = START_MS
  #isStarting = true
  #cpuMs = 0
  #nextId = 1
  #tail = ''
  /** Why it was killed here. */
  #refused: string | null = null
  #isHung = false
  #isDead = false

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#child = (options.start ?? forkProgram)()
    this.#heardAtMs = options.now()
    this.#starvation = new Starvation(HUNG_CPU_MS, options.looks)
    this.#looks = new LateLooks(BEAT_MS, this.#heardAtMs)
    // `setImmediate` comes after the channel was read: what waited there while we were busy counts.
    this.#looking = setInterval(() => setImmediate(() => this.#look()), BEAT_MS)
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#tail = (this.#tail + chunk.toString()).slice(-TAIL_CHARACTERS)
    })
    this.#child.on('error', (error) => this.#die(error.message))
    // `close` does not come when we disconnect. `setImmediate` leaves time to read the last of its stderr.
    this.#child.on('exit', (code, signal) => {
      setImmediate(() => this.#die(this.#refused ?? `${signal ?? `exit ${code}`} ${this.#tail.trim()}`.trim()))
    })
    this.#gone = new Promise((resolve) => this.#child.once('exit', () => resolve()))
    this.#ready = this.#start()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** True once it listens; false when it never will. */
  get ready(): Promise<boolean> {
    return this.#ready
  }

  /** Undefined when the process died, or does not answer in time. */
  async call<M extends keyof RelayCalls>(
    method: M,
    takes: RelayCalls[M]['takes'],
  ): Promise<RelayCalls[M]['gives'] | undefined> {
    if (!(await this.#ready) || this.#isDead) return undefined
    const id = this.#nextId++
    return new Promise((resolve) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, sinceMs: this.#options.now() })
      this.post({ kind: 'call', id, method, takes } as ToRelay)
    })
  }

  /** `sent` is called when the message has left; not if the process has ended. */
  post(message: ToRelay, sent: () => void = () => undefined): void {
    if (!this.#isDead && this.#child.connected) this.#child.send(message, sent)
  }

  /** Ends the process: disconnects, and kills it if it does not exit. */
  async stop(): Promise<void> {
    if (this.#isDead) return
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 2000)
    if (this.#child.connected) this.#child.disconnect()
    await this.#gone
    clearTimeout(timer)
  }

  #start(): Promise<boolean> {
    return new Promise((resolve) => {
      const { received, log } = this.#options
      const pass = walled(received, (error) =>
        log.error({ err: error }, 'a message of a media process could not be handled'),
      )
      this.#child.on('message', (message: FromRelay) => {
        this.#heardAtMs = this.#options.now()
        if (message.kind === 'ready') this.#started(message, resolve)
        else if (message.kind === 'failed') this.#refuse(message.problem)
        else if (message.kind === 'answer') this.#answered(message.id, message.value)
        else pass(message)
      })
      this.#child.once('exit', () => resolve(false))
      this.#child.once('error', () => resolve(false))
      this.post({ kind: 'start', settings: this.#options.settings })
    })
  }

  #started({ note, linkPort }: Extract<FromRelay, { kind: 'ready' }>, resolve: (isReady: boolean) => void): void {
    this.linkPort = linkPort
    if (note !== null) this.#options.log.warn({ pid: this.pid }, note)
    this.#isStarting = false
    this.#silentMs = this.#options.hungMs ?? HUNG_MS
    resolve(true)
  }

  /** Gives up calls without an answer, and a process that sends nothing. A pause of this process counts for neither. */
  #look(): void {
    if (this.#isDead) return
    const nowMs = this.#options.now()
    this.#looks.look(nowMs)
    const silentMs = this.#looks.lastedMs(this.#heardAtMs, nowMs)
    if (this.#isStarting) void this.#lookAtStart()
    else if (silentMs >= SILENCE_MS) void this.#lookAtSilence()
    for (const [id, { sinceMs }] of this.#waiting)
      if (this.#looks.lastedMs(sinceMs, nowMs) >= ANSWER_MS) this.#answered(id, undefined)
    const hungMs = this.#looks.lastedMs(Math.max(this.#heardAtMs, this.#countsSinceMs), nowMs)
    if (hungMs < this.#silentMs || this.#isHung) return
    this.#isHung = true
    this.#refuse(`nothing came from it for ${Math.round(silentMs / 1000)} s`)
  }

  /** A process that uses the processor lives, although it says nothing yet. */
  async #lookAtStart(): Promise<void> {
    const { looks, now } = this.#options
    const cpuMsOf = looks?.cpuMsOf ?? processorTimeOf
    const cpuMs = this.pid === undefined ? null : await cpuMsOf(this.pid)
    if (cpuMs === null || cpuMs <= this.#cpuMs || cpuMs > START_CPU_MS) return
    this.#cpuMs = cpuMs
    if (this.#isStarting) this.#heardAtMs = now()
  }

  async #lookAtSilence(): Promise<void> {
    const { pid } = this
    if (pid === undefined) return
    this.#countsSinceMs = await this.#starvation.countsSince(pid, this.#heardAtMs, this.#options.now())
  }

  #refuse(problem: string): void {
    this.#refused ??= problem
    this.#child.kill('SIGKILL')
  }

  #answered(id: number, value: unknown): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    waiting.resolve(value)
  }

  #die(detail: string): void {
    if (this.#isDead) return
    this.#isDead = true
    clearInterval(this.#looking)
    for (const id of this.#waiting.keys()) this.#answered(id, undefined)
    this.#options.died({ detail, isHung: this.#isHung })
  }
}
