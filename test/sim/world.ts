import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { Clients } from './clients.ts'
import { WorldTime } from './clock.ts'
import { deleteGrant, type Grant, makeGrants, refreshGrant } from './grants.ts'
import { LEASE_MS, SimNode } from './node.ts'
import { checkAlways, checkBooks, checkHealed, type Seen } from './promises.ts'
import { type Fate, Scheduler, SeededRandom } from './scheduler.ts'

const STEPS = 500

/** Several nodes, their clients and their operator, and what must be true of them. Everything follows from the seed. */
export class World {
  readonly #random: SeededRandom
  readonly #scheduler: Scheduler
  readonly #time = new WorldTime()
  readonly #folder: string
  readonly #real: Store
  readonly #database: DatabaseSync
  readonly #nodes: SimNode[] = []
  readonly #clients: Clients
  readonly #grants: Grant[] = []
  readonly #faultRate: number
  #accountId = ''
  #hasFaults = false
  #pids = 0
  /** Nodes that died or stood still for too long: what they had not written is lost. */
  #losses = 0
  /** The error of something that must not fail. */
  #broken: unknown = null

  private constructor(seed: number, folder: string, real: Store, file: string) {
    this.#random = new SeededRandom(seed)
    this.#scheduler = new Scheduler(this.#random)
    this.#clients = new Clients({
      scheduler: this.#scheduler,
      accountId: () => this.#accountId,
      guard: (work) => this.#guard(work),
    })
    this.#folder = folder
    this.#real = real
    this.#database = new DatabaseSync(file)
    // A third of the worlds have a database that never fails.
    this.#faultRate = this.#random.chance(1 / 3) ? 0 : 0.005 + this.#random.next() * 0.03
  }

  /**
   * @param template a database of this version without rows
   * @returns what happened, as a digest
   * @throws what was wrong
   */
  static async run(seed: number, folder: string, template: string): Promise<string> {
    mkdirSync(folder, { recursive: true })
    const file = join(folder, 'sim.db')
    copyFileSync(template, file)
    const real = await openSqlite(file)
    const world = new World(seed, folder, real, file)
    try {
      await world.#live()
      return world.#scheduler.trace
    } finally {
      world.#database.close()
      await real.close()
    }
  }

  async #live(): Promise<void> {
    for (let n = 0; n < 3; n++) await this.#finish(this.#startNode(`host ${n}`))
    const [account] = await this.#real.read.accounts.list()
    this.#accountId = account?.id ?? ''
    const [first] = this.#nodes
    if (first) this.#grants.push(...(await this.#finish(makeGrants(first.ctx, this.#accountId))))
    this.#hasFaults = true
    for (let step = 0; step < STEPS; step++) await this.#step()
    this.#hasFaults = false
    await this.#heal()
    checkHealed(this.#seen)
    await this.#finish(Promise.all(this.#nodes.filter((node) => !node.isDead).map((node) => node.stop())))
    await this.#sweepDead()
    checkBooks(this.#seen)
  }

  // Time and order

  async #step(): Promise<void> {
    if (this.#random.chance(0.6) && (await this.#scheduler.step())) return this.#checkAlways()
    this.#pass(this.#random.below(300))
    this.#event()
    await this.#scheduler.settle()
    this.#checkAlways()
  }

  #pass(ms: number): void {
    this.#time.ms += ms
    for (const node of this.#nodes) if (node.isRunning) node.clock.tick()
    for (const node of this.#nodes) this.#expire(node)
  }

  /** The lease of a node that has not run for so long is over, in the time of the database. */
  #expire(node: SimNode): void {
    if (node.stoppedAtMs === null || node.isExpired || this.#time.ms - node.stoppedAtMs < LEASE_MS) return
    node.isExpired = true
    this.#losses += 1
    this.#database
      .prepare('update serving_nodes set alive_until_ms = 1 where host_key = ? and pid = ? and alive_until_ms <> -1')
      .run(node.hostKey, node.pid)
  }

  /** Lets everything run that `work` waits for. */
  async #finish<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const done = work.finally(() => (state.isOver = true))
    done.catch(() => undefined)
    await this.#scheduler.settle()
    for (let idle = 0; !state.isOver; idle++) {
      if (await this.#scheduler.step()) idle = 0
      else this.#pass(1_000)
      if (idle > 100) throw new Error('something waits for ever')
    }
    return done
  }

  // What happens

  #event(): void {
    const events: readonly [number, () => void][] = [
      [14, () => this.#timer()],
      // Notifications come late, and some never.
      [10, () => this.#anyNode()?.hear()],
      [12, () => this.#connect(true)],
      [22, () => this.#connect(false)],
      [8, () => this.#clients.leave()],
      [10, () => this.#clients.send()],
      [2, () => this.#revoke()],
      [3, () => this.#kick()],
      [3, () => this.#stall()],
      [8, () => this.#wake()],
      [1, () => this.#crash()],
      [1, () => this.#stop()],
      [1, () => this.#drain()],
      [2, () => this.#startAgain()],
      [2, () => this.#setClock()],
    ]
    let left = this.#random.below(events.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, event] of events) {
      if (left < weight) return event()
      left -= weight
    }
  }

  #timer(): void {
    const node = this.#anyNode()
    const timer = this.#of(SimNode.timers)
    if (node && timer) node.run(timer)
  }

  #connect(isPublisher: boolean): void {
    const node = this.#anyNode()
    const kind = isPublisher ? 'publish' : 'subscribe'
    const grant = this.#of(this.#grants.filter((one) => one.kind === kind))
    if (node && grant) this.#clients.connect(node, grant)
  }

  /** Deletes a token, or gives it another value. */
  #revoke(): void {
    const node = this.#anyNode()
    const grant = this.#of(this.#grants.filter(({ revoked }) => revoked === 'no'))
    if (!node || !grant) return
    const revoke = this.#random.chance(0.5) ? deleteGrant : refreshGrant
    void this.#guard(revoke(node.ctx, this.#accountId, grant).then((others) => this.#grants.push(...others)))
  }

  #kick(): void {
    const node = this.#anyNode()
    if (node) this.#clients.kick(node)
  }

  /** Its publishers and viewers move to other nodes; then it ends, as the server does. */
  #drain(): void {
    const node = this.#anyNode()
    if (node && !node.isStopping) void this.#guard(node.drain().then(() => this.#stopNode(node)))
  }

  #stall(): void {
    const node = this.#anyNode()
    if (node) node.stoppedAtMs = this.#time.ms
    // Sometimes for longer than its lease.
    if (this.#random.chance(0.5)) this.#pass(LEASE_MS + this.#random.below(5_000))
  }

  #wake(): void {
    this.#resume(this.#of(this.#nodes.filter(({ stoppedAtMs, isDead }) => stoppedAtMs !== null && !isDead)))
  }

  #resume(node: SimNode | undefined): void {
    if (!node) return
    node.stoppedAtMs = null
    // The thread that renews leases may wake long after the others.
    void this.#guard(this.#scheduler.turn(node).then(() => node.renew()))
  }

  #crash(): void {
    const node = this.#anyNode()
    if (node) this.#gone(node)
    this.#losses += 1
  }

  #stop(): void {
    const node = this.#anyNode()
    if (node && !node.isStopping) void this.#guard(this.#stopNode(node))
  }

  async #stopNode(node: SimNode): Promise<void> {
    await node.stop().finally(() => this.#gone(node))
  }

  /** Its process has ended, and its clients notice. */
  #gone(node: SimNode): void {
    this.#end(node)
    this.#scheduler.drop(node)
    this.#clients.lose(node)
  }

  #end(node: SimNode): void {
    node.isDead = true
    node.stoppedAtMs ??= this.#time.ms
  }

  /** A process on the host of one that has died. */
  #startAgain(): void {
    const hosts = new Set(this.#nodes.filter(({ isDead }) => !isDead).map(({ hostKey }) => hostKey))
    const dead = this.#nodes.find(({ hostKey }) => !hosts.has(hostKey))
    if (dead) void this.#guard(this.#startNode(dead.hostKey))
  }

  #setClock(): void {
    const node = this.#anyNode()
    if (node) node.clock.aheadMs = this.#random.below(20_000) - 10_000
  }

  async #startNode(hostKey: string): Promise<void> {
    const node = new SimNode({
      real: this.#real,
      scheduler: this.#scheduler,
      time: this.#time,
      folder: this.#folder,
      hostKey,
      pid: ++this.#pids,
      isRunning: (pid) => this.#nodes.some((one) => one.pid === pid && !one.isDead),
      fate: () => this.#fate(),
    })
    this.#nodes.push(node)
    try {
      await node.start()
    } catch (error) {
      // A server that cannot start ends.
      this.#end(node)
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  #fate(): Fate {
    if (!this.#hasFaults || !this.#random.chance(this.#faultRate)) return 'done'
    return this.#random.chance(0.5) ? 'fails' : 'loses its answer'
  }

  /** What clients and operators await may fail as the store does, and in no other way. */
  async #guard(work: Promise<unknown>): Promise<void> {
    try {
      await work
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#broken ??= error
    }
  }

  readonly #of = <T>(some: readonly T[]): T | undefined => some[this.#random.below(some.length)]

  #anyNode(): SimNode | undefined {
    return this.#of(this.#nodes.filter((node) => node.isRunning && node.isServing))
  }

  // What must be true

  /** After the last fault: every node runs again, and does what its timers do until nothing is left to do. */
  async #heal(): Promise<void> {
    for (const node of this.#nodes) if (!node.isDead && node.stoppedAtMs !== null) this.#resume(node)
    for (let round = 0; round < 6; round++) {
      this.#pass(LEASE_MS / 2)
      for (const node of this.#nodes) {
        if (!node.isRunning || !node.isServing) continue
        node.hear()
        for (const timer of SimNode.timers) node.run(timer)
        await this.#runAll()
      }
    }
    if (this.#broken !== null) throw this.#broken
  }

  async #runAll(): Promise<void> {
    await this.#scheduler.settle()
    while (await this.#scheduler.step());
  }

  async #sweepDead(): Promise<void> {
    for (const node of this.#nodes) this.#end(node)
    // Also those of registrations whose answer was lost.
    this.#database.exec('update serving_nodes set alive_until_ms = 1 where alive_until_ms <> -1')
    this.#pass(LEASE_MS + 1)
    await this.#finish(this.#startNode('the last host'))
    await this.#finish(Promise.resolve(this.#nodes.at(-1)?.stop()))
  }

  #checkAlways(): void {
    if (this.#broken !== null) throw this.#broken
    checkAlways(this.#seen)
  }

  get #seen(): Seen {
    return {
      nodes: this.#nodes,
      clients: this.#clients.all,
      grants: this.#grants,
      hasLosses: this.#losses > 0,
      rows: (sql) => this.#database.prepare(sql).all(),
    }
  }
}
