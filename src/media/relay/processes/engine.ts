import type { Logger } from '../../../base/log.ts'
import { eachWalled } from '../../../base/walls.ts'
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
import { NO_SESSION, NO_VIEWER, TOO_BUSY, TRY_AGAIN } from '../refusals.ts'
import { FeedPipe } from './feedPipe.ts'
import type { FromRelay } from './messages.ts'
import { NodeLinks } from './nodeLinks.ts'
import { Placement } from './placement.ts'
import { ProcessPool, type ProcessPoolOptions, type RelayProcess } from './processPool.ts'
import { Shares, type SharesOptions } from './shares.ts'
import { Taps } from './taps.ts'
import type { ProcessDeath } from './worker.ts'

export interface RelayEngineOptions extends Omit<ProcessPoolOptions, 'received' | 'died'> {
  /** See `PlacementOptions`. */
  readonly maxViewers?: number
  /** See `SharesOptions.waitMs`. */
  readonly linkWaitMs?: SharesOptions['waitMs']
}

/** A session in its room. */
interface Member {
  readonly room: string
  readonly part: PartInRoom
  /** Index of its process. */
  readonly process: number
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
  readonly #pool: ProcessPool
  readonly #placement: Placement
  readonly #shares: Shares
  readonly links: NodeLinks
  readonly #sessions = new Map<string, Member>()
  readonly #taps: Taps
  readonly #listeners = new Set<(event: MediaEngineEvent) => void>()

  constructor({ maxViewers, linkWaitMs, ...options }: RelayEngineOptions) {
    this.#log = options.log
    this.#taps = new Taps((sessionId) => this.#processOf(sessionId), options.log)
    this.#pool = new ProcessPool({
      ...options,
      received: (process, message) => this.#received(process, message),
      died: (process, death) => this.#died(process, death),
    })
    const { size } = this.#pool
    this.#placement = new Placement({ processes: size, maxProcessesARoom: size, maxViewers })
    const { now } = options
    const workerAt = (process: number): RelayProcess | null => this.#pool.startAt(process)
    this.#shares = new Shares({ placement: this.#placement, workerAt, now, waitMs: linkWaitMs })
    const settle = (room: string): void => this.#shares.settle(room)
    this.links = new NodeLinks({ placement: this.#placement, workerAt, now, settle })
  }

  /** Processes are started when they are needed: an idle server has none, but their ports. */
  start(): Promise<void> {
    return this.#pool.open()
  }

  async stop(): Promise<void> {
    this.#pool.close()
    this.links.stop()
    await Promise.all([...this.#sessions.keys()].map((sessionId) => this.end(sessionId)))
    await this.#pool.stop()
  }

  publish(offer: PublishOffer): Promise<Negotiated> {
    return this.#negotiate(offer, 'source', (worker) => worker.call('publish', offer))
  }

  get processes(): number {
    return this.#pool.size
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
    const answer = await this.#processOf(sessionId)?.call('patch', { sessionId, fragment, mayRestart })
    // Clients whose session is over connect again: those of a process that is only busy would make it busier.
    return answer ?? (this.#sessions.has(sessionId) ? TOO_BUSY : NO_SESSION)
  }

  async layers(sessionId: string, choice?: string | null): Promise<LayersAnswer> {
    const takes = choice === undefined ? { sessionId } : { sessionId, choice }
    return (await this.#processOf(sessionId)?.call('layers', takes)) ?? NO_VIEWER
  }

  async end(sessionId: string): Promise<void> {
    const member = this.#sessions.get(sessionId)
    member?.pipe?.stop()
    if (member !== undefined) await this.#pool.end(member.process, sessionId)
  }

  async feed({ source, ...request }: Parameters<MediaEngine['feed']>[0]): Promise<void> {
    const { sessionId, room } = request
    const process = this.#placement.processFor(room, 'source')
    const worker = this.#pool.startAt(process)
    if (worker === null) throw new Error('the media process is not there')
    const pipe = new FeedPipe({ sessionId, source, post: (message, sent) => worker.post(message, sent) })
    this.#join(sessionId, { room, part: 'source', process, pipe })
    if (!(await worker.ready) || !this.#sessions.has(sessionId)) return
    worker.post({ kind: 'feed', ...request })
    pipe.open()
  }

  setAside(sessionId: string, isAside: boolean): void {
    this.#processOf(sessionId)?.post({ kind: 'aside', sessionId, isAside })
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
    await this.#pool.follow()
    const process = await this.#linkedProcessFor(room, part)
    const worker = this.#pool.startAt(process)
    if (worker === null) return TRY_AGAIN
    this.#join(sessionId, { room, part, process })
    const answer = (await call(worker)) ?? (await this.#unanswered(sessionId, process, worker))
    if (answer.ok) worker.post({ kind: 'answered', sessionId })
    else this.#leave(sessionId)
    return answer
  }

  /** A process that is too busy still reads the offer later. It must end the session that it then makes. */
  async #unanswered(sessionId: string, process: number, worker: RelayProcess): Promise<Negotiated> {
    if (this.#pool.at(process) !== worker || !(await worker.ready)) return TRY_AGAIN
    void this.end(sessionId)
    return TOO_BUSY
  }

  /** A viewer goes to another process than the home of the room when the media is there. */
  async #linkedProcessFor(room: string, part: PartInRoom): Promise<number> {
    const process = this.#placement.processFor(room, part)
    // The viewers of a process that has died come back at once, and would all go to the home.
    await this.#pool.pause(process)
    if (await this.#shares.prepare(room, process)) return process
    return this.#placement.homeOf(room) ?? process
  }

  /** The process of a session, if it runs. */
  #processOf(sessionId: string): RelayProcess | null {
    const member = this.#sessions.get(sessionId)
    return member === undefined ? null : this.#pool.at(member.process)
  }

  /** A session joins its room, and leaves the one that it was in. */
  #join(sessionId: string, member: Member): void {
    this.#leave(sessionId)
    this.#sessions.set(sessionId, member)
    this.#placement.enter(member.room, member.process, member.part)
    this.links.count(member.room, member.part, 1)
    this.#shares.settle(member.room)
  }

  #leave(sessionId: string): void {
    const member = this.#sessions.get(sessionId)
    if (member === undefined) return
    this.#sessions.delete(sessionId)
    this.#placement.leave(member.room, member.process, member.part)
    this.links.count(member.room, member.part, -1)
    this.#shares.settle(member.room)
  }

  #received(process: number, message: FromRelay): void {
    switch (message.kind) {
      case 'beat':
        return this.#beat(process, message)
      case 'link':
        return this.#shares.pass(process, this.#pool.at(message.process), message.message)
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

  #beat(process: number, { waits, load, feedback, links, faults }: Extract<FromRelay, { kind: 'beat' }>): void {
    if (faults !== null)
      this.#log.error(
        { process, ...faults },
        'a fault of Sluice has ended sessions over WebRTC, feeds or links of a media process',
      )
    this.#placement.report(process, load)
    this.#shares.tick()
    this.links.tick(links)
    this.#notify({ kind: 'waits', process, ...waits, load })
    if (feedback.length > 0) this.#notify({ kind: 'feedback', rooms: feedback })
  }

  #notify(event: MediaEngineEvent): void {
    if (event.kind === 'ended') this.#forget(event.sessionId)
    eachWalled(
      this.#listeners,
      (listener) => listener(event),
      (error) => this.#log.error({ err: error, kind: event.kind }, 'an event of a media process could not be handled'),
    )
  }

  #forget(sessionId: string): void {
    this.#sessions.get(sessionId)?.pipe?.stop()
    this.#leave(sessionId)
    this.#taps.end(sessionId)
  }

  /** Reports the end of each session of the process, then its death. The next session starts it again. */
  #died(process: number, death: ProcessDeath): void {
    this.#shares.died(process, this.#pool.running)
    const lost = [...this.#sessions].filter(([, member]) => member.process === process)
    // A feed has its session in the main process, where it goes on.
    const sessions = lost.filter(([, { pipe }]) => pipe === undefined).length
    for (const [sessionId] of lost) this.#notify({ kind: 'ended', sessionId, reason: 'engine_died' })
    this.links.died(process)
    this.#placement.forget(process)
    if (!this.#pool.isOpen) return
    this.#notify({ kind: 'waits', process, meanMs: 0, mostMs: 0, late: 0, load: 0 })
    this.#notify({ kind: 'died', process, sessions, ...death })
  }
}
