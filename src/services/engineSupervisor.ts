import { allInTurn } from '../base/allEnded.ts'
import type { Logger } from '../base/log.ts'
import type { EngineEffect, EngineEvent } from '../core/channels/runs/engine.ts'
import type {
  MissingPart,
  TranscodeEvent,
  TranscodeJob,
  TranscodeLog,
  Transcoder,
} from '../core/channels/runs/transcoder.ts'
import { type AbrLadder, ACTIVE_STATUSES, type ActiveStatus, type Engine, statusOf } from '../core/channels/types.ts'
import { coded, say } from '../core/notices.ts'
import { type Leases, type StoredEngineState, StoreUnavailable } from '../store/store.ts'
import type { EncodingLoad } from './encodingLoad.ts'

/** What the store holds of engines, and what a supervisor writes about them. Each call is one transaction. */
export interface EngineRecords {
  /** Engines that run, or that should. */
  busy(): Promise<SupervisedEngine[]>
  /** Takes an engine without a node, or of a dead one. False: another node runs it, or it is deleted. */
  adopt(state: StoredEngineState): Promise<boolean>
  /** Hands an engine of this node, whose process has ended, to the node of its publisher. False: it stays here. */
  handOver(engine: Engine, node: string): Promise<boolean>
  /** Leaves a stopped engine of this node to any node. */
  release(state: StoredEngineState): Promise<void>
  /** Applies an event to an engine, if this node has it. Returns what to do now. */
  apply(engine: Engine, event: EngineEvent): Promise<readonly EngineEffect[]>
  /** Shows a line to the operator of the engine. */
  log(engine: Engine, line: TranscodeLog): Promise<void>
  ladderOf(engine: Engine): Promise<AbrLadder | undefined>
  /** The job of an engine, or the reason why there is none. */
  jobOf(engine: Engine): Promise<TranscodeJob | MissingPart>
  /** Stops a channel that had no source for too long. Returns whether it did. */
  timeOut(accountId: string, channelId: string): Promise<boolean>
}

export interface SupervisorOptions {
  readonly records: EngineRecords
  readonly transcoder: Transcoder
  readonly load: Pick<EncodingLoad, 'noticeFor'>
  /** The id of this process; new at each start. */
  readonly node: string
  /** How long after a renewal other nodes consider this node's lease valid. */
  readonly leaseMs: number
  /** Whether this node takes further engines. */
  readonly takes: () => boolean
  /** Renews the lease of this node's engines, independently of the work here. */
  readonly leases: Leases
  readonly log: Logger
}

export interface SupervisedEngine {
  readonly state: StoredEngineState
  /** Undefined: it is deleted, or other nodes run its channel. */
  readonly engine: Engine | undefined
  /** The node that its publisher is connected to; null: none is known. */
  readonly publisherAt: string | null
  /** No engine of its channel has had a source for as long as the channel allows. */
  readonly isOverdue: boolean
}

/** The number of engines and channels of a node in each state. */
export interface Census {
  readonly engines: ReadonlyMap<ActiveStatus, number>
  /** By the most advanced of their engines at this node. */
  readonly channels: ReadonlyMap<ActiveStatus, number>
}

/** What a process reported of its engine. */
interface Report {
  readonly engine: Engine
  readonly launch: symbol
  readonly event: TranscodeEvent | TranscodeLog
}

/** The most reports that wait for the store. */
const REPORTS_MAX = 10_000
/** Engines that are worked on at the same time, so that what they write shares commits: 1,000 of them start together. */
const AT_ONCE = 64

const HANDED_OVER = 'The publisher is connected to another node, where the engine continues'

/**
 * Reconciles this node's processes with the store. It adopts engines without a node, starts and stops their processes,
 * records the events of these processes, hands engines to the nodes of their publishers, and takes over from dead nodes. All
 * that concerns one engine runs in sequence.
 */
export class EngineSupervisor {
  readonly #options: SupervisorOptions
  readonly #records: EngineRecords
  /** The latest launch of each engine. */
  readonly #launches = new Map<string, symbol>()
  /** What processes reported and is not written yet, the oldest first. */
  #reports: Report[] = []
  #queue: Promise<void> = Promise.resolve()
  #isQueued = false
  #isStopping = false
  #census: Census = { engines: new Map(), channels: new Map() }
  /** Only a node with engines renews their leases. */
  #hasLease = false

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#records = options.records
  }

  /** Reconciles everything once, soon; concurrent calls share one run. Resolves when it is done, and never rejects. */
  reconcile(): Promise<void> {
    if (this.#isQueued) return this.#queue
    this.#isQueued = true
    return this.#enqueue(async () => {
      this.#isQueued = false
      if (!this.#isStopping) await this.#look()
    })
  }

  /** What this node ran at the last reconciliation. */
  get census(): Census {
    return this.#census
  }

  /**
   * Stops the engines of this node because the server stops. They stay wanted, so that another process starts them
   * again.
   */
  stop(): Promise<void> {
    this.#isStopping = true
    return this.#enqueue(async () => {
      const busy = await this.#records.busy()
      const mine = busy.filter(({ state }) => state.node === this.#options.node)
      await this.#eachAlone(mine, ({ state, engine }) => this.#close(state, engine))
      await this.#releaseLease()
    })
  }

  async #close(state: StoredEngineState, engine: Engine | undefined): Promise<void> {
    await this.#kill(state.engineId)
    if (engine) await this.#records.apply(engine, { kind: 'stop', cause: { type: 'shutdown', id: '' } })
    if (engine) await this.#records.apply(engine, { kind: 'ended' })
    await this.#records.release(state)
  }

  #keepLease(): void {
    const { node: id, leaseMs, leases } = this.#options
    if (!this.#hasLease) leases.keep({ kind: 'engines', id, leaseMs })
    this.#hasLease = true
  }

  async #releaseLease(): Promise<void> {
    if (this.#hasLease) await this.#options.leases.release(this.#options.node)
    this.#hasLease = false
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(work).catch((error: unknown) => this.#warnOf(error))
    return this.#queue
  }

  async #look(): Promise<void> {
    await this.#writeReports()
    const supervised = await this.#records.busy()
    const mine = supervised.filter(({ state }) => state.node === this.#options.node)
    this.#census = censusOf(mine)
    await (mine.length > 0 ? this.#keepLease() : this.#releaseLease())
    // An engine that fails is tried again at the next reconciliation.
    await this.#eachAlone(supervised, (one) => this.#reconcileOne(one))
    await this.#timeOut(supervised)
  }

  /** An engine that fails holds up none of the others. */
  #eachAlone(all: readonly SupervisedEngine[], work: (one: SupervisedEngine) => Promise<void>): Promise<void> {
    return inGroups(all, (one) => work(one).catch((error: unknown) => this.#warnOf(error, one.state.engineId)))
  }

  #warnOf(error: unknown, engineId?: string): void {
    this.#options.log.warn({ engine: engineId, err: error }, 'engines could not be reconciled; trying again')
  }

  async #reconcileOne({ state, engine, publisherAt }: SupervisedEngine): Promise<void> {
    const { node, transcoder } = this.#options
    const isForAnother = publisherAt !== null && publisherAt !== node
    if (state.node !== node) {
      // Another node took it while this node seemed dead.
      if (transcoder.isRunning(state.engineId)) await this.#kill(state.engineId)
      if (isForAnother || !this.#options.takes() || !(await this.#records.adopt(state))) return
      this.#keepLease()
      void this.reconcile()
    } else if (!engine || !state.wanted) await this.#shutDown(state, engine)
    else if (isForAnother) await this.#handOver(engine, publisherAt)
    else await this.#drive(engine)
  }

  /** Stops an engine that is no longer wanted. */
  async #shutDown(state: StoredEngineState, engine: Engine | undefined): Promise<void> {
    await this.#kill(state.engineId)
    if (engine) await this.#records.apply(engine, { kind: 'ended' })
    await this.#records.release(state)
  }

  /** At most one process of an engine runs at a time, so this node's ends first. */
  async #handOver(engine: Engine, node: string): Promise<void> {
    await this.#kill(engine.id)
    if (!(await this.#records.handOver(engine, node))) return
    this.#options.log.info({ engine: engine.id, node }, 'an engine goes to the node of its publisher')
    await this.#records.log(engine, { kind: 'log', level: 'info', message: HANDED_OVER })
  }

  async #drive(engine: Engine): Promise<void> {
    const { transcoder } = this.#options
    const isRunning = transcoder.isRunning(engine.id)
    switch (engine.status) {
      case 'deploying':
        if (isRunning) await this.#kill(engine.id)
        await this.#records.apply(engine, { kind: 'launched' })
        await this.#warn(engine)
        return this.#launch(engine)
      case 'error':
        if (await this.#isDue(engine)) await this.#launch(engine)
        return
      case 'starting':
      case 'waiting':
      case 'ingesting':
      case 'playing':
        if (!isRunning) await this.#records.apply(engine, { kind: 'died', ...say(coded('engine_process_gone')) })
        return
      case 'stopping':
      case 'stopped':
        // A user stopped it during this reconciliation; the next one handles it.
        return
    }
  }

  async #isDue(engine: Engine): Promise<boolean> {
    const effects = await this.#records.apply(engine, { kind: 'tick' })
    if (effects.every((effect) => effect.do !== 'launch')) return false
    await this.#kill(engine.id, true)
    return true
  }

  /** Kills the process, and ignores events that it has already sent. */
  #kill(engineId: string, goesOn = false): Promise<void> {
    this.#launches.delete(engineId)
    return this.#options.transcoder.kill(engineId, goesOn)
  }

  async #launch(engine: Engine): Promise<void> {
    const job = await this.#records.jobOf(engine)
    if ('missing' in job) return void (await this.#records.apply(engine, { kind: 'died', ...say(job.missing) }))
    const launch = Symbol(engine.id)
    this.#launches.set(engine.id, launch)
    this.#options.transcoder.launch(job, (event) => {
      if (this.#launches.get(engine.id) !== launch) return
      if (event.kind === 'died')
        this.#options.log.warn({ engine: engine.id, problem: event.message }, 'an engine failed')
      this.#reports.push({ engine, launch, event })
      if (this.#reports.length > REPORTS_MAX) this.#reports.shift()
      void this.#enqueue(() => this.#writeReports())
    })
  }

  /** While the store is away all reports wait: without them an engine would have a wrong status for as long as it runs. */
  async #writeReports(): Promise<void> {
    while (this.#reports.length > 0) {
      const unwritten: { readonly report: Report; readonly error: StoreUnavailable }[] = []
      await inGroups(this.#takeReports(), (report) =>
        this.#write(report).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) unwritten.push({ report, error })
          else this.#warnOf(error, report.engine.id)
        }),
      )
      this.#reports.unshift(...unwritten.map(({ report }) => report))
      if (unwritten[0]) throw unwritten[0].error
    }
  }

  /** The oldest report of each engine; those after it stay. */
  #takeReports(): Report[] {
    const oldest = new Map<string, Report>()
    const later: Report[] = []
    for (const report of this.#reports) {
      if (oldest.has(report.engine.id)) later.push(report)
      else oldest.set(report.engine.id, report)
    }
    this.#reports = later
    return [...oldest.values()]
  }

  async #write({ engine, launch, event }: Report): Promise<void> {
    // An event of an earlier process does not apply to this one.
    if (this.#launches.get(engine.id) !== launch) return
    await (event.kind === 'log' ? this.#records.log(engine, event) : this.#records.apply(engine, event))
    if (event.kind === 'log' && event.level === 'warn') await this.#records.apply(engine, { ...event, kind: 'waits' })
  }

  /** Warns if this machine will probably not keep up with the engine. */
  async #warn(engine: Engine): Promise<void> {
    const ladder = await this.#records.ladderOf(engine)
    const sentences = ladder ? this.#options.load.noticeFor([{ engineId: engine.id, ladder }]) : []
    if (sentences.length === 0) return
    await this.#records.log(engine, { kind: 'log', level: 'warn', ...say(...sentences) })
    await this.#records.apply(engine, { kind: 'notice', sentences })
  }

  /** Stops channels without a source for too long. The node with one of their engines does it. */
  async #timeOut(supervised: readonly SupervisedEngine[]): Promise<void> {
    const mine = supervised.filter(({ state, isOverdue }) => state.node === this.#options.node && isOverdue)
    const channels = new Map(mine.map(({ state }) => [state.channelId, state.accountId]))
    const timeOut = async ([channelId, accountId]: [string, string]): Promise<void> => {
      if (await this.#records.timeOut(accountId, channelId)) void this.reconcile()
    }
    // One that fails each time keeps no other on the air.
    await allInTurn([...channels].map((channel) => () => timeOut(channel)))
  }
}

async function inGroups<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(work))
}

function censusOf(supervised: readonly SupervisedEngine[]): Census {
  const engines = supervised.flatMap(({ engine }) => (engine ? [engine] : []))
  const channels = Map.groupBy(engines, ({ channelId }) => channelId)
  return {
    engines: countOf(engines.map(({ status }) => status)),
    channels: countOf([...channels.values()].map((own) => statusOf(own.map(({ status }) => status)))),
  }
}

function countOf(statuses: readonly ActiveStatus[]): Map<ActiveStatus, number> {
  const counts = new Map<ActiveStatus, number>(ACTIVE_STATUSES.map((status) => [status, 0]))
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
  return counts
}
