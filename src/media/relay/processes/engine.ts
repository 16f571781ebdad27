import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../base/log.ts'
import type {
  LayersAnswer,
  MediaEngine,
  MediaEngineEvent,
  Negotiated,
  PartInRoom,
  Patched,
  PublishOffer,
  ViewOffer,
} from '../../engine.ts'
import type { FrameSource } from '../../frame.ts'
import { FeedPipe } from './feedPipe.ts'
import { MediaHosts, type HostsOptions } from './hosts.ts'
import type { FromRelay, RelaySettings } from './messages.ts'
import { NodeLinks } from './nodeLinks.ts'
import { Placement } from './placement.ts'
import { Shares, type SharesOptions } from './shares.ts'
import { Taps } from './taps.ts'
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

export interface RelayEngineOptions {
  readonly log: Logger
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  readonly config: RelayConfig
  /** Every address of a host name. Absent: names have none. */
  readonly resolve?: HostsOptions['resolve']
  /** Starts a process. Absent: forks `process.ts`. */
  readonly startProcess?: (options: WorkerOptions) => RelayProcess
  /** See `PlacementOptions`. */
  readonly maxViewers?: number
  /** See `SharesOptions.waitMs`. */
  readonly linkWaitMs?: SharesOptions['waitMs']
}

const NO_VIEWER: LayersAnswer = { ok: false, status: 404, problem: 'There is no such viewer.' }
const TRY_AGAIN: Negotiated = {
  ok: false,
  status: 503,
  problem: 'The media server is starting again; come back in a moment.',
}
const NO_SESSION = { ok: false, status: 404, problem: 'There is no such session.' } as const
const TOO_BUSY = {
  ok: false,
  status: 503,
  problem: 'The media server is too busy to answer; come back in a moment.',
} as const
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

interface Held {
  readonly room: string
  readonly part: PartInRoom
  readonly slot: Slot
  /** The frames that go to the process for this session. */
  readonly pipe?: FeedPipe
}

/**
 * The embedded engine: relay processes, started when they are first needed. The sources of a room live in one process, so that a
 * publisher that replaces another keeps its viewers; more viewers than that can serve go to others, which get the media by links.
 * If a process dies, only its sessions end.
 */
export function createRelayEngine(options: RelayEngineOptions): MediaEngine {
  return new RelayEngine(options)
}

class RelayEngine implements MediaEngine {
  readonly #log: Logger
  readonly #now: () => number
  readonly #config: RelayConfig
  readonly #startProcess: (options: WorkerOptions) => RelayProcess
  readonly #slots: readonly Slot[]
  readonly #placement: Placement
  readonly #shares: Shares
  readonly links: NodeLinks
  readonly #sessions = new Map<string, Held>()
  readonly #taps = new Taps((sessionId) => this.#sessions.get(sessionId)?.slot.worker ?? null)
  readonly #listeners = new Set<(event: MediaEngineEvent) => void>()
  readonly #hosts: MediaHosts
  #looking: NodeJS.Timeout | undefined
  #looked: Promise<void> | null = null
  #isStopped = false

  constructor({
    log,
    now,
    config,
    resolve = async () => [],
    startProcess = (options) => new Worker(options),
    maxViewers,
    linkWaitMs,
  }: RelayEngineOptions) {
    this.#log = log
    this.#now = now
    this.#config = config
    this.#hosts = new MediaHosts({
      host: config.host,
      publicAddresses: () => config.publicAddresses,
      resolve,
      now,
      log,
    })
    this.#startProcess = startProcess
    const count = config.processes > 0 ? config.processes : Math.max(1, availableParallelism() - 1)
    this.#slots = Array.from({ length: count }, (_, index) => ({
      index,
      worker: null,
      ending: null,
      notBeforeMs: 0,
    }))
    this.#placement = new Placement({ processes: count, maxProcessesARoom: count, maxViewers })
    const workerAt = (index: number): RelayProcess | null => this.#workerOf(this.#slotAt(index))
    this.#shares = new Shares({ placement: this.#placement, workerAt, now, waitMs: linkWaitMs })
    const settle = (room: string): void => this.#shares.settle(room)
    this.links = new NodeLinks({ placement: this.#placement, workerAt, now, settle })
  }

  /** Processes are started when they are needed: an idle server has none. */
  async start(): Promise<void> {
    this.#isStopped = false
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#looking)
    this.#looking = undefined
    this.#looked = null
    this.links.stop()
    await Promise.all([...this.#sessions.keys()].map((sessionId) => this.end(sessionId)))
    await Promise.all(this.#slots.map(({ worker }) => worker?.stop() ?? Promise.resolve()))
  }

  /** Looks at the addresses from the first session on. Resolves when names have been resolved, or could not be. */
  #follow(): Promise<void> {
    this.#looking ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    return (this.#looked ??= this.#hosts.look())
  }

  /** Posts also what has not changed: an address may not have been ready when it was new. */
  async #look(): Promise<void> {
    await this.#hosts.look()
    for (const { worker } of this.#slots) worker?.post(this.#hosts.current)
  }

  publish(offer: PublishOffer): Promise<Negotiated> {
    return this.#negotiate(offer, 'source', (worker) => worker.call('publish', offer))
  }

  get processes(): number {
    return this.#slots.length
  }

  processFor(room: string, part: PartInRoom): { readonly process: number; readonly hasRoom: boolean } {
    const process = this.#placement.processFor(room, part)
    return { process, hasRoom: this.#placement.hasRoom(room, process) }
  }

  viewersOf(process: number): number {
    return this.#placement.viewersOf(process)
  }

  view(offer: ViewOffer): Promise<Negotiated> {
    return this.#negotiate(offer, 'viewer', (worker) => worker.call('view', offer))
  }

  async patch(sessionId: string, fragment: string, mayRestart: boolean): Promise<Patched> {
    const worker = this.#sessions.get(sessionId)?.slot.worker
    const answer = await worker?.call('patch', { sessionId, fragment, mayRestart })
    // Clients whose session is over connect again: those of a process that is only busy would make it busier.
    return answer ?? (this.#sessions.has(sessionId) ? TOO_BUSY : NO_SESSION)
  }

  async layers(sessionId: string, choice?: string | null): Promise<LayersAnswer> {
    const worker = this.#sessions.get(sessionId)?.slot.worker
    const takes = choice === undefined ? { sessionId } : { sessionId, choice }
    return (await worker?.call('layers', takes)) ?? NO_VIEWER
  }

  async end(sessionId: string): Promise<void> {
    const held = this.#sessions.get(sessionId)
    held?.pipe?.stop()
    if (held !== undefined) await this.#endAt(held.slot, sessionId)
  }

  /** The ends of a turn are one message: the process stops the media of all before it ends the first. */
  async #endAt(slot: Slot, sessionId: string): Promise<void> {
    const ending = (slot.ending ??= { sessionIds: [], done: Promise.resolve().then(() => this.#sendEnds(slot)) })
    ending.sessionIds.push(sessionId)
    await ending.done
  }

  async #sendEnds(slot: Slot): Promise<void> {
    const { sessionIds = [] } = slot.ending ?? {}
    slot.ending = null
    await slot.worker?.call('end', { sessionIds })
  }

  async feed({ source, ...request }: Parameters<MediaEngine['feed']>[0]): Promise<void> {
    const { sessionId, room } = request
    const slot = this.#slotFor(room, 'source')
    const worker = this.#workerOf(slot)
    if (worker === null) throw new Error('the media process is not there')
    const pipe = new FeedPipe({ sessionId, source, post: (message, sent) => worker.post(message, sent) })
    this.#hold(sessionId, { room, part: 'source', slot, pipe })
    if (!(await worker.ready) || !this.#sessions.has(sessionId)) return
    worker.post({ kind: 'feed', ...request })
    pipe.open()
  }

  setAside(sessionId: string, isAside: boolean): void {
    this.#sessions.get(sessionId)?.slot.worker?.post({ kind: 'aside', sessionId, isAside })
  }

  tap(sessionId: string): FrameSource {
    return this.#taps.source(sessionId)
  }

  watch(listener: (event: MediaEngineEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async #negotiate(
    { sessionId, room }: { sessionId: string; room: string },
    part: PartInRoom,
    call: (worker: RelayProcess) => Promise<Negotiated | undefined>,
  ): Promise<Negotiated> {
    if (!this.#isStopped) await this.#follow()
    const slot = await this.#linkedSlotFor(room, part)
    const worker = this.#workerOf(slot)
    if (worker === null) return TRY_AGAIN
    this.#hold(sessionId, { room, part, slot })
    const answer = (await call(worker)) ?? (await this.#unanswered(sessionId, slot, worker))
    if (answer.ok) worker.post({ kind: 'answered', sessionId })
    else this.#release(sessionId)
    return answer
  }

  /** A process that is too busy still reads the offer later. It must end the session that it then makes. */
  async #unanswered(sessionId: string, slot: Slot, worker: RelayProcess): Promise<Negotiated> {
    if (slot.worker !== worker || !(await worker.ready)) return TRY_AGAIN
    void this.end(sessionId)
    return TOO_BUSY
  }

  #slotFor(room: string, part: PartInRoom): Slot {
    return this.#slotAt(this.#placement.processFor(room, part))
  }

  #slotAt(index: number): Slot {
    const slot = this.#slots[index]
    if (slot === undefined) throw new Error('an engine has one process at least')
    return slot
  }

  /** A viewer goes to another process than the home of the room when the media is there. */
  async #linkedSlotFor(room: string, part: PartInRoom): Promise<Slot> {
    const slot = this.#slotFor(room, part)
    // The viewers of a process that has died come back at once, and would all go to the home.
    await this.#pause(slot)
    if (await this.#shares.prepare(room, slot.index)) return slot
    return this.#slotAt(this.#placement.homeOf(room) ?? slot.index)
  }

  /** A session that is there already keeps one place only. */
  #hold(sessionId: string, held: Held): void {
    this.#release(sessionId)
    this.#sessions.set(sessionId, held)
    this.#placement.enter(held.room, held.slot.index, held.part)
    this.links.count(held.room, held.part, 1)
    this.#shares.settle(held.room)
  }

  #release(sessionId: string): void {
    const held = this.#sessions.get(sessionId)
    if (held === undefined) return
    this.#sessions.delete(sessionId)
    this.#placement.leave(held.room, held.slot.index, held.part)
    this.links.count(held.room, held.part, -1)
    this.#shares.settle(held.room)
  }

  /** A session that begins right after a process has died waits. One millisecond more: a timer may be a fraction early. */
  async #pause(slot: Slot): Promise<void> {
    const leftMs = slot.notBeforeMs - this.#now()
    if (slot.worker === null && leftMs > 0) await sleep(Math.min(Math.ceil(leftMs), PAUSE_MS) + 1)
  }

  /** Starts the process of a slot when there is none. Null: it is too soon after it could not be started. */
  #workerOf(slot: Slot): RelayProcess | null {
    if (slot.worker !== null) return slot.worker
    if (this.#isStopped || this.#now() < slot.notBeforeMs) return null
    const { udpPort, processes: _, ...settings } = this.#config
    void this.#follow()
    const port = udpPort === 0 ? 0 : udpPort + slot.index
    const worker = this.#startProcess({
      settings: {
        ...settings,
        publicAddresses: this.#hosts.current.publicAddresses,
        port,
        ...(this.#slots.length > 1 && { process: slot.index }),
      },
      log: this.#log,
      now: this.#now,
      received: (message) => this.#received(slot, message),
      died: (death) => this.#died(slot, death),
    })
    slot.worker = worker
    return worker
  }

  #received(slot: Slot, message: FromRelay): void {
    switch (message.kind) {
      case 'beat':
        return this.#beat(slot, message)
      case 'link':
        return this.#shares.pass(slot.index, this.#slotAt(message.process).worker, message.message)
      case 'nodeShare':
        return this.links.told(message.peer, message.state)
      case 'events':
        for (const event of message.events) this.#notify(event)
        return undefined
      case 'want':
        return this.#sessions.get(message.sessionId)?.pipe?.want(message.isWanted)
      case 'tracks':
      case 'frame':
      case 'end':
        return this.#taps.received(message)
      // The worker takes these itself.
      case 'ready':
      case 'failed':
      case 'answer':
        return undefined
    }
  }

  #beat(slot: Slot, { waits, load, feedback, links }: Extract<FromRelay, { kind: 'beat' }>): void {
    this.#placement.report(slot.index, load)
    this.#shares.tick()
    this.links.tick(links)
    this.#notify({ kind: 'waits', process: slot.index, ...waits, load })
    if (feedback.length > 0) this.#notify({ kind: 'feedback', rooms: feedback })
  }

  #notify(event: MediaEngineEvent): void {
    if (event.kind === 'ended') this.#forget(event.sessionId)
    for (const listener of this.#listeners) listener(event)
  }

  #forget(sessionId: string): void {
    this.#sessions.get(sessionId)?.pipe?.stop()
    this.#release(sessionId)
    this.#taps.end(sessionId)
  }

  /** Reports the end of each session of the process, then its death. The next session starts it again. */
  #died(slot: Slot, death: ProcessDeath): void {
    slot.worker = null
    slot.notBeforeMs = this.#now() + PAUSE_MS
    this.#shares.died(
      slot.index,
      this.#slots.flatMap(({ worker }) => worker ?? []),
    )
    const lost = [...this.#sessions].filter(([, held]) => held.slot === slot)
    // A feed has its session in the main process, where it goes on.
    const sessions = lost.filter(([, { pipe }]) => pipe === undefined).length
    for (const [sessionId] of lost) this.#notify({ kind: 'ended', sessionId, reason: 'engine_died' })
    this.links.died(slot.index)
    this.#placement.forget(slot.index)
    if (this.#isStopped) return
    this.#notify({ kind: 'waits', process: slot.index, meanMs: 0, mostMs: 0, late: 0, load: 0 })
    this.#notify({ kind: 'died', process: slot.index, sessions, ...death })
  }
}
