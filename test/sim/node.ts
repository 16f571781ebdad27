import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { openApp, type App } from '../../src/app/app.ts'
import { startCascade } from '../../src/app/cascade.ts'
import { startRestreams } from '../../src/app/restream.ts'
import { repeat } from '../../src/base/repeat.ts'
import { NodeDrain } from '../../src/commands/nodes/nodeDrain.ts'
import { type ServingNode, startNode } from '../../src/commands/nodes/servingNode.ts'
import { endExpired } from '../../src/commands/sessions/revoke.ts'
import type { Logger } from '../../src/base/log.ts'
import type { Context } from '../../src/commands/context.ts'
import { loadConfig } from '../../src/config/load.ts'
import { PushedKeys } from '../../src/services/pushedKeys.ts'
import type { TargetReport } from '../../src/services/restreams.ts'
import { sqliteDialect } from '../../src/store/dialects.ts'
import { renewalOf } from '../../src/store/leases/renewal.ts'
import type { Store } from '../../src/store/store.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { CHEAP_PASSWORDS } from '../support/passwords.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { NodeClock, type WorldTime } from './clock.ts'
import type { Links } from './links.ts'
import type { Fate, Runner, Scheduler } from './scheduler.ts'
import { linkTo, type StoreLink } from './store.ts'
import type { Targets } from './targets.ts'

/** Until other nodes take a silent one for dead, milliseconds. */
export const LEASE_MS = 10_000
const EVERY_MS = 3_000
const DRAIN_MS = 10_000
/** A media process says so often how busy it is. */
const BEAT_MS = 1_000
/** Without the database for this long, a node takes no secured media of others. */
export const FORWARD_STALE_MS = 8_000
/** A node that runs has looked at that within this time. */
const SEEN_MS = 2_500

const nothing = (): void => undefined
/** Nodes of a world are given up all the time, which is an error elsewhere. */
const NO_LOG: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => NO_LOG }

const FACTS = { ...NODE_FACTS, version: '0.0.0', cores: 2, cpuPercent: 10, rtmpPort: 0 }

export interface NodeOptions {
  readonly real: Store
  /** A connection of its own, as renewals have. */
  readonly database: DatabaseSync
  readonly scheduler: Scheduler
  readonly time: WorldTime
  readonly targets: Targets
  readonly links: Links
  /** Its data directory, which it reads nothing from. */
  readonly folder: string
  readonly hostKey: string
  readonly pid: number
  readonly isRunning: (pid: number) => boolean
  /** Of its next call of the store. */
  readonly fate: () => Fate
}

/** What a timer of a server does. */
const TIMERS = ['count', 'reconcile', 'sweep', 'check', 'second', 'expire', 'restream'] as const
export type Timer = (typeof TIMERS)[number]

/** A serving node with the real commands, cache, sessions and jobs. The world owns its clock, its timers and its life. */
export class SimNode implements Runner {
  readonly hostKey: string
  readonly pid: number
  readonly clock: NodeClock
  /** When its database was last silent for too long, true time. */
  staleAtMs = Number.NEGATIVE_INFINITY
  /** When it began to run, or woke last, true time. */
  resumedAtMs: number
  /** When it stood still, true time; null: it runs. */
  stoppedAtMs: number | null = null
  /** While it stands still its lease is renewed: only its main thread hangs. */
  isRenewed = false
  /** Its media processes have much to do. */
  isBusy = false
  isDead = false
  isStopping = false
  /** Its lease is over, so that others may have given it up. */
  isExpired = false
  readonly #options: NodeOptions
  readonly #link: StoreLink
  #app: App | null = null
  #serving: ServingNode | null = null
  #drain: NodeDrain | null = null
  #restreams: ReturnType<typeof startRestreams> | null = null
  #cascade: ReturnType<typeof startCascade> | null = null
  #lease: { readonly id: string; readonly lost: () => void } | null = null
  readonly #busy = new Set<Timer>()

  constructor(options: NodeOptions) {
    const { scheduler, time, hostKey, pid, real } = options
    this.#options = options
    this.hostKey = hostKey
    this.pid = pid
    this.resumedAtMs = time.ms
    this.clock = new NodeClock(time, (scheduler.random.next() - 0.5) / 1000)
    this.clock.aheadMs = scheduler.random.below(4_000) - 2_000
    this.#link = linkTo(real, { scheduler, time, runner: this, fate: options.fate })
  }

  get isRunning(): boolean {
    return !this.isDead && this.stoppedAtMs === null
  }

  get isServing(): boolean {
    return this.#serving !== null
  }

  /** The id of its row. */
  get id(): string {
    return this.ctx.sessions.node
  }

  /** Where others reach it. */
  get url(): string {
    return `https://${this.hostKey}.example.com`
  }

  /** One node is in a region of its own. */
  get region(): string {
    return this.hostKey.endsWith('0') ? 'north' : 'south'
  }

  /** Its database has been silent for too long, and it had time to notice. */
  get isStale(): boolean {
    const { time } = this.#options
    return time.ms - Math.max(this.#link.heardAtMs + FORWARD_STALE_MS, this.resumedAtMs) > SEEN_MS
  }

  get ctx(): Context {
    if (this.#app === null) throw new Error('the node has not started')
    return this.#app.ctx
  }

  async start(): Promise<void> {
    const { folder, hostKey, pid, isRunning, scheduler, links } = this.#options
    const secrets = { sealingKey: SEALING_KEY }
    const server = { nodeUrl: this.url, region: this.region }
    const access = { forwardStaleSeconds: FORWARD_STALE_MS / 1000 }
    const flags = { data: { dir: folder }, storage: { url: `${folder}/unused.db` }, secrets, server, access }
    const config = loadConfig({ env: {}, flags })
    if (!config.ok) throw new Error(JSON.stringify(config.error))
    this.#app = await openApp({
      config: config.value,
      log: NO_LOG,
      store: this.#link.store,
      machineClock: this.clock,
      random: scheduler.random,
      passwordCost: CHEAP_PASSWORDS,
    })
    this.#serving = await startNode(this.ctx, {
      hostKey,
      pid,
      isRunning,
      leaseMs: LEASE_MS,
      leases: {
        keep: ({ id }, lost = () => undefined) => this.#keep(id, lost),
        release: async () => void (this.#lease = null),
      },
      url: this.url,
      facts: () => ({ ...FACTS, region: this.region }),
    })
    this.#cascade = startCascade(this.#app, { links: links.engineOf(this) }, links.askedBy(this))
    this.#restreams = startRestreams(this.#app, this.#options.targets.dialledBy(this))
    const { clock, log, nodeLoad } = this.ctx
    repeat({ clock, log, name: 'beat', everyMs: BEAT_MS }, async () =>
      nodeLoad.heard({ process: 0, load: this.isBusy ? 0.99 : 0.1, meanMs: 1 }),
    )
  }

  /** The targets of a feed of this node. */
  targetsOf(feedId: string): TargetReport[] {
    return this.#restreams?.restreams.report(feedId) ?? []
  }

  /** It takes no new viewers. */
  get isFull(): boolean {
    return this.ctx.nodeLoad.reading().full.length > 0
  }

  /** Resolves when it has nothing left, and has to stop. */
  async drain(): Promise<void> {
    this.#drain ??= new NodeDrain(this.ctx, { drainMs: () => DRAIN_MS, pushed: new PushedKeys(this.ctx) })
    await this.#drain.begin()
    await this.#drain.over
  }

  /** Ends as SIGTERM does. */
  async stop(): Promise<void> {
    this.isStopping = true
    await this.#drain?.stop()
    await this.#cascade?.stop()
    await this.#serving?.stop()
    if (this.#restreams === null) return
    await this.#restreams.stop()
    await this.ctx.restreamUsage.write(this.ctx.store)
  }

  /** Renews its lease, as the thread for that does by itself. */
  async renew(): Promise<void> {
    const lease = this.#lease
    if (lease === null) return
    const { scheduler, database } = this.#options
    const { statements } = renewalOf(sqliteDialect, { kind: 'node', id: lease.id, leaseMs: LEASE_MS })
    const renewed = await scheduler.work(async () =>
      statements.map(({ sql, parameters }) => database.prepare(sql).run(...(parameters as SQLInputValue[])).changes),
    )
    if (renewed[0] === 1) this.isExpired = false
    else if (this.#lease === lease) {
      this.#lease = null
      lease.lost()
    }
  }

  #keep(id: string, lost: () => void): void {
    this.#lease = { id, lost }
    this.isExpired = false
  }

  /** Time has passed. */
  tick(): void {
    this.clock.tick()
    if (this.isServing && this.isStale) this.staleAtMs = this.#options.time.ms
  }

  /** Another node has committed something. */
  hear(): void {
    this.#link.tell('changed')
  }

  /** Runs a timer, unless its last run is not over. */
  run(timer: Timer): void {
    if (this.#busy.has(timer)) return
    this.#busy.add(timer)
    this.#work(timer)
      // What fails is logged and done again by the next one.
      .catch(() => undefined)
      .finally(() => this.#busy.delete(timer))
  }

  async #work(timer: Timer): Promise<void> {
    const serving = this.#serving
    if (serving === null) return
    if (timer === 'second') return this.#link.tell('second')
    if (timer === 'expire') return endExpired(this.ctx)
    if (timer === 'count') return serving.count(EVERY_MS)
    if (timer === 'restream') return this.ctx.restreamUsage.write(this.ctx.store)
    await serving[timer]()
  }

  static readonly timers = TIMERS
}

export const isNear = (one: SimNode, other: SimNode): boolean => one.region === other.region
