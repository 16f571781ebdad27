import { type EngineEvent, isTimedOut } from '../../../core/channels/runs/engine.ts'
import type { TranscodeJob, TranscodeLog, Transcoder } from '../../../core/channels/runs/transcoder.ts'
import { type Engine, isPush, ACTIVE_STATUSES, type ActiveStatus, statusOf } from '../../../core/channels/types.ts'
import type { Leases, EngineStateRecord, StoredEngineState, Tx } from '../../../store/store.ts'
import type { Context } from '../../context.ts'
import { sourceOf } from '../ingests.ts'
import { ladderOf } from '../ladders.ts'
import type { EncodingLoad } from '../../../services/encodingLoad.ts'
import { engineObject, stepEngine } from './step.ts'
import { emitChannelEvent } from '../webhooks/emit.ts'

export interface KeeperOptions {
  readonly transcoder: Transcoder
  readonly load: Pick<EncodingLoad, 'warningFor'>
  /** The id of this process; new at each start. */
  readonly node: string
  /** True: the process with this id is gone. False: unknown or running. */
  readonly isGone: (node: string) => boolean
  /** How long after a renewal other nodes consider this node's lease valid. */
  readonly leaseMs: number
  /** Renews the lease of this node's engines, independently of the work here. */
  readonly leases: Leases
}

interface SupervisedEngine {
  readonly state: StoredEngineState
  readonly engine: Engine | undefined
}

/** The number of engines and channels of a node in each state. */
export interface Census {
  readonly engines: ReadonlyMap<ActiveStatus, number>
  /** By the most advanced of their engines at this node. */
  readonly channels: ReadonlyMap<ActiveStatus, number>
}

/**
 * Reconciles this node's processes with the store. It adopts engines without a node, starts and stops their processes,
 * records the events of these processes, and takes over from dead nodes. All of it runs in sequence.
 */
export class EngineSupervisor {
  readonly #ctx: Context
  readonly #options: KeeperOptions
  /** The latest launch of each engine. */
  readonly #launches = new Map<string, symbol>()
  #queue: Promise<void> = Promise.resolve()
  #isQueued = false
  #isStopping = false
  #census: Census = { engines: new Map(), channels: new Map() }

  constructor(ctx: Context, options: KeeperOptions) {
    this.#ctx = ctx
    this.#options = options
    const { node: id, leaseMs, leases } = options
    leases.keep({ kind: 'engines', id, leaseMs })
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
      for (const { state, engine } of await this.#supervised()) {
        if (state.node !== this.#options.node) continue
        await this.#kill(state.engineId)
        if (engine) await this.#apply(engine, { kind: 'stop', cause: { type: 'shutdown', id: '' } })
        if (engine) await this.#apply(engine, { kind: 'ended' })
        await this.#release(state)
      }
      await this.#options.leases.release(this.#options.node)
    })
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(work).catch((error: unknown) => this.#warnOf(error))
    return this.#queue
  }

  async #look(): Promise<void> {
    const supervised = await this.#supervised()
    this.#census = censusOf(supervised.filter(({ state }) => state.node === this.#options.node))
    for (const one of supervised) {
      // An engine that fails is tried again at the next reconciliation, and the others do not wait for it.
      await this.#reconcileOne(one).catch((error: unknown) => this.#warnOf(error, one.state.engineId))
    }
    await this.#timeOut(supervised)
  }

  #warnOf(error: unknown, engineId?: string): void {
    this.#ctx.log.warn({ engine: engineId, err: error }, 'engines could not be reconciled; trying again')
  }

  async #supervised(): Promise<SupervisedEngine[]> {
    const { read } = this.#ctx.store
    const states = await read.engineStates.busy()
    return Promise.all(
      states.map(async (state) => ({ state, engine: await read.engines.get(state.accountId, state.engineId) })),
    )
  }

  async #reconcileOne({ state, engine }: SupervisedEngine): Promise<void> {
    const { node, transcoder } = this.#options
    if (state.node !== node) {
      // Another node took it while this node seemed dead.
      if (transcoder.isRunning(state.engineId)) await this.#kill(state.engineId)
      if ((await this.#isFree(state)) && (await this.#adopt(state))) void this.reconcile()
    } else if (!engine || !state.wanted) await this.#shutDown(state, engine)
    else await this.#drive(engine)
  }

  async #isFree({ node, isExpired }: StoredEngineState): Promise<boolean> {
    if (node === null || this.#options.isGone(node)) return true
    return isExpired && (await this.#ctx.time.isEven(this.#options.leaseMs))
  }

  /** Takes an engine without a node, and closes the run of a dead node. */
  #adopt({ engineId, accountId, channelId, node: previous }: StoredEngineState): Promise<boolean> {
    const { node, leaseMs, isGone } = this.#options
    return this.#ctx.store.transaction(async (tx) => {
      const channel = await tx.channels.lock(accountId, channelId)
      const state = await tx.engineStates.get(engineId)
      if (!state || state.node !== previous) return false
      // The lease was renewed since the read above.
      if (previous !== null && !state.isExpired && !isGone(previous)) return false
      if (!channel || !(await tx.engines.get(accountId, engineId))) return this.#delete(tx, state)
      await tx.engineStates.take(engineId, node, leaseMs)
      if (previous !== null) await stepEngine(this.#ctx, tx, channel, engineId, { kind: 'lost' })
      const engine = await tx.engines.get(accountId, engineId)
      const run = state.runId === null ? undefined : await tx.runs.get(state.runId)
      if (state.wanted && engine?.status === 'stopped' && run) {
        await stepEngine(this.#ctx, tx, channel, engineId, { kind: 'start', cause: run.start })
        const runId = (await tx.engineStates.get(engineId))?.runId ?? null
        if (run.keptBy !== null && runId !== null) await tx.runs.keep(runId, run.keptBy)
      }
      return true
    })
  }

  /** Closes everything that a deleted engine left open. */
  async #delete(tx: Tx, state: EngineStateRecord): Promise<false> {
    if (state.runId) await tx.runs.end(state.runId, { type: 'error', id: '' }, this.#ctx.clock.now())
    await tx.engineStates.delete(state.engineId)
    return false
  }

  /** Stops an engine that is no longer wanted. */
  async #shutDown(state: StoredEngineState, engine: Engine | undefined): Promise<void> {
    await this.#kill(state.engineId)
    if (engine) await this.#apply(engine, { kind: 'ended' })
    await this.#release(state)
  }

  async #release({ engineId }: StoredEngineState): Promise<void> {
    await this.#ctx.store.transaction(async (tx) => {
      const state = await tx.engineStates.get(engineId)
      if (state?.node !== this.#options.node) return
      const exists = await tx.engines.get(state.accountId, engineId)
      if (exists) await tx.engineStates.put({ ...state, node: null })
      else await this.#delete(tx, state)
    })
  }

  async #drive(engine: Engine): Promise<void> {
    const { transcoder } = this.#options
    const isRunning = transcoder.isRunning(engine.id)
    switch (engine.status) {
      case 'deploying':
        if (isRunning) await this.#kill(engine.id)
        await this.#apply(engine, { kind: 'launched' })
        await this.#warn(engine)
        return this.#launch(engine)
      case 'error':
        if (await this.#isDue(engine)) await this.#launch(engine)
        return
      case 'starting':
      case 'waiting':
      case 'ingesting':
      case 'playing':
        if (!isRunning) await this.#apply(engine, { kind: 'died', message: 'its process is gone' })
        return
      case 'stopping':
      case 'stopped':
        // A user stopped it during this reconciliation; the next one handles it.
        return
    }
  }

  async #isDue(engine: Engine): Promise<boolean> {
    const effects = await this.#apply(engine, { kind: 'tick' })
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
    const job = await this.#jobOf(engine)
    if (typeof job === 'string') return void (await this.#apply(engine, { kind: 'died', message: job }))
    const launch = Symbol(engine.id)
    this.#launches.set(engine.id, launch)
    this.#options.transcoder.launch(job, (event) => {
      void this.#enqueue(async () => {
        // An event of an earlier process does not apply to this one.
        if (this.#launches.get(engine.id) !== launch) return
        if (event.kind === 'died') this.#ctx.log.warn({ engine: engine.id, problem: event.message }, 'an engine failed')
        await (event.kind === 'log' ? this.#log(engine, event) : this.#apply(engine, event))
        if (event.kind === 'log' && event.level === 'warn') await this.#apply(engine, { ...event, kind: 'waits' })
      })
    })
  }

  /** Warns if this machine will probably not keep up with the engine. */
  async #warn(engine: Engine): Promise<void> {
    const ladder = await ladderOf(this.#ctx, engine.accountId, engine.abrLadderId)
    const message = ladder ? this.#options.load.warningFor([{ engineId: engine.id, ladder }]) : null
    if (message === null) return
    await this.#log(engine, { kind: 'log', level: 'warn', message })
    await this.#apply(engine, { kind: 'notice', message })
  }

  #log({ accountId, channelId, id }: Engine, { level, message }: TranscodeLog): Promise<void> {
    this.#ctx.log[level]({ engine: id, channel: channelId }, message)
    return this.#ctx.store.transaction(async (tx) => {
      const [channel, engine] = [await tx.channels.get(accountId, channelId), await tx.engines.get(accountId, id)]
      const on = { accountId, atMs: this.#ctx.clock.now() }
      if (!channel || !engine) return
      await emitChannelEvent(tx, on, {
        name: `engine.log.${level}`,
        object: engineObject(channel, engine),
        data: { message },
      })
    })
  }

  /** The job, or the reason why there is none. */
  async #jobOf({ id, name, accountId, ingestId, abrLadderId }: Engine): Promise<TranscodeJob | string> {
    const { read } = this.#ctx.store
    const ingest = ingestId === null ? undefined : await read.ingests.get(accountId, ingestId)
    const ladder = await ladderOf(this.#ctx, accountId, abrLadderId)
    if (!ingest) return 'its ingest does not exist any more'
    if (!ladder) return 'its ABR ladder does not exist any more'
    const source = isPush(ingest.type)
      ? ({ kind: 'push', ingestId: ingest.id } as const)
      : ({ kind: 'pull', ingestId: ingest.id, url: sourceOf(this.#ctx, ingest) } as const)
    return { engineId: id, name: `engine ${id} ${name}`, source, ladder }
  }

  #apply({ accountId, channelId, id }: Engine, event: EngineEvent): ReturnType<typeof stepEngine> {
    return this.#ctx.store.transaction(async (tx) => {
      const channel = await tx.channels.lock(accountId, channelId)
      const state = await tx.engineStates.get(id)
      if (!channel || state?.node !== this.#options.node) return []
      return stepEngine(this.#ctx, tx, channel, id, event)
    })
  }

  /** Stops channels without a source for too long. The node with one of their engines does it. */
  async #timeOut(supervised: readonly SupervisedEngine[]): Promise<void> {
    const mine = supervised.filter(({ state }) => state.node === this.#options.node && state.idleSinceMs !== null)
    const channels = new Map(mine.map(({ state }) => [state.channelId, state.accountId]))
    for (const [channelId, accountId] of channels) {
      const stopped = await this.#ctx.store.transaction((tx) => this.#timeOutChannel(tx, accountId, channelId))
      if (stopped) void this.reconcile()
    }
  }

  async #timeOutChannel(tx: Tx, accountId: string, channelId: string): Promise<boolean> {
    const channel = await tx.channels.lock(accountId, channelId)
    if (!channel) return false
    const engines = await tx.engines.ofChannel(channelId)
    const states = await Promise.all(
      engines.map(async ({ id, status, statusMessage: message }) => {
        const { idleSinceMs = null, failures = 0, retryAtMs = null } = (await tx.engineStates.get(id)) ?? {}
        return { status, message, idleSinceMs, failures, retryAtMs }
      }),
    )
    if (!isTimedOut(states, channel.timeoutSeconds, this.#ctx.clock.now())) return false
    for (const { id } of engines) {
      await stepEngine(this.#ctx, tx, channel, id, { kind: 'stop', cause: { type: 'timeout', id: '' } })
    }
    return true
  }
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
