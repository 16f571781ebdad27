import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { Clients } from './clients.ts'
import { WorldTime } from './clock.ts'
import { deleteGrant, type Grant, makeGrants, refreshGrant, retarget } from './grants.ts'
import { Links } from './links.ts'
import { LEASE_MS, SimNode } from './node.ts'
import { Nodes } from './nodes.ts'
import { checkAlways, checkBooks, checkHealed } from './promises.ts'
import { type Fate, Scheduler, SeededRandom } from './scheduler.ts'
import type { Seen } from './seen.ts'
import { Targets } from './targets.ts'

const STEPS = 500

/**
 * Leases end when the world says, and not by the time of the database: that is the real one, which differs from run to run. No
 * world lasts as long as this one.
 */
const ENDLESS_LEASES = ['insert', 'update']
  .map(
    (change) => `create trigger endless_lease_${change} after ${change} on serving_nodes when new.alive_until_ms > 1
    begin update serving_nodes set alive_until_ms = unixepoch() * 1000 + ${LEASE_MAX_MS} where id = new.id; end;`,
  )
  .join('')

/** Several nodes, their clients and their operator, and what must be true of them. Everything follows from the seed. */
export class World {
  readonly #random: SeededRandom
  readonly #scheduler: Scheduler
  readonly #time = new WorldTime()
  readonly #real: Store
  readonly #database: DatabaseSync
  /** What every step asks of it is prepared once. */
  readonly #questions = new Map<string, StatementSync>()
  readonly #nodes: Nodes
  readonly #clients: Clients
  readonly #targets: Targets
  readonly #links: Links
  readonly #grants: Grant[] = []
  readonly #faultRate: number
  /** The share of steps in which a call that waits goes on. In the others something new happens. */
  readonly #pace: number
  #accountId = ''
  #hasFaults = false
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
    this.#targets = new Targets(this.#random)
    this.#links = new Links({
      scheduler: this.#scheduler,
      time: this.#time,
      nodes: () => this.#nodes.all,
      clients: () => this.#clients.all,
      accountId: () => this.#accountId,
    })
    this.#real = real
    this.#database = new DatabaseSync(file)
    this.#database.exec(ENDLESS_LEASES)
    this.#nodes = new Nodes({
      real,
      scheduler: this.#scheduler,
      time: this.#time,
      targets: this.#targets,
      links: this.#links,
      folder,
      database: this.#database,
      fate: () => this.#fate(),
      guard: (work) => this.#guard(work),
      gone: (node) => this.#clients.lose(node),
    })
    this.#pace = 0.7 + this.#random.next() * 0.25
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
    for (let n = 0; n < 3; n++) await this.#finish(this.#nodes.start(`host-${n}`))
    const [account] = await this.#real.read.accounts.list()
    this.#accountId = account?.id ?? ''
    const [first] = this.#nodes.all
    if (first) this.#grants.push(...(await this.#finish(makeGrants(first.ctx, this.#accountId))))
    this.#hasFaults = true
    this.#publishAll()
    for (let step = 0; step < STEPS; step++) await this.#step()
    this.#hasFaults = false
    await this.#heal()
    checkHealed(this.#seen)
    await this.#finish(Promise.all(this.#nodes.all.filter((node) => !node.isDead).map((node) => node.stop())))
    await this.#sweepDead()
    checkBooks(this.#seen)
  }

  // Time and order

  async #step(): Promise<void> {
    if (this.#random.chance(this.#pace) && (await this.#scheduler.step())) return this.#checkAlways()
    this.#pass(this.#random.below(300))
    this.#event()
    await this.#scheduler.settle()
    this.#checkAlways()
  }

  #pass(ms: number): void {
    this.#nodes.pass(ms)
    this.#links.look()
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
      [10, () => this.#hear()],
      [12, () => this.#connect(true)],
      [22, () => this.#connect(false)],
      [8, () => this.#clients.leave()],
      [10, () => this.#send()],
      [8, () => this.#targets.answer()],
      [2, () => this.#revoke()],
      [3, () => this.#kick()],
      [1, () => this.#retarget()],
      [3, () => this.#nodes.stall()],
      [1, () => this.#nodes.hang()],
      [8, () => this.#nodes.wake()],
      [1, () => this.#nodes.crash()],
      [1, () => this.#nodes.stop()],
      [1, () => this.#nodes.drain()],
      [2, () => this.#nodes.startAgain()],
      [2, () => this.#nodes.setClock()],
      [2, () => this.#nodes.load()],
      [2, () => this.#links.break()],
      [1, () => void this.#guard(this.#links.replay())],
    ]
    let left = this.#random.below(events.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, event] of events) {
      if (left < weight) return event()
      left -= weight
    }
  }

  /** Notifications of commits come late, and some never. */
  #hear(): void {
    for (const node of this.#nodes.serving) if (this.#random.chance(0.7)) node.hear()
  }

  #timer(): void {
    const node = this.#nodes.any()
    const timer = this.#of(SimNode.timers)
    if (node && timer) node.run(timer)
  }

  /** Media flows at every running node. */
  #send(): void {
    this.#clients.send()
    this.#targets.send()
  }

  #connect(isPublisher: boolean): void {
    const node = this.#nodes.any()
    const kind = isPublisher ? 'publish' : 'subscribe'
    const grant = this.#of(this.#grants.filter((one) => one.kind === kind))
    if (node && grant) this.#clients.connect(node, grant)
  }

  /** Deletes a token, or gives it another value. */
  #revoke(): void {
    const node = this.#nodes.any()
    const grant = this.#of(this.#grants.filter(({ revoked }) => revoked === 'no'))
    if (!node || !grant) return
    const revoke = this.#random.chance(0.5) ? deleteGrant : refreshGrant
    void this.#guard(
      revoke(node.ctx, this.#time, this.#accountId, grant).then((others) => this.#grants.push(...others)),
    )
  }

  /** Adds targets to a token, or takes some away. */
  #retarget(): void {
    const node = this.#nodes.any()
    const grant = this.#of(this.#grants.filter(({ hasTargets, revoked }) => hasTargets && revoked === 'no'))
    if (node && grant) void this.#guard(retarget(node.ctx, this.#accountId, grant, this.#random.below(3)))
  }

  #kick(): void {
    const node = this.#nodes.any()
    if (node) this.#clients.kick(node)
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

  // What must be true

  /** After the last fault: every node runs again, and does what its timers do until nothing is left to do. */
  async #heal(): Promise<void> {
    this.#nodes.wakeAll()
    this.#links.heal()
    for (let round = 0; round < 6; round++) {
      if (round === 1) await this.#finish(this.#nodes.startAllAgain())
      if (round === 1) this.#publishAll()
      // One after another: a node may get a stream from the one before.
      if (round > 1) this.#watchAll(this.#nodes.serving[round - 2])
      for (let passed = 0; passed < LEASE_MS / 2; passed += 500) {
        this.#pass(500)
        await this.#runAll()
      }
      for (const node of this.#nodes.all) {
        if (!node.isRunning || !node.isServing) continue
        // A node that woke while it registered has a lease that nothing has renewed since.
        await node.renew()
        node.hear()
        // All feeds are read once a minute to be sure. Without it every change has arrived too.
        for (const timer of SimNode.timers) if (timer !== 'check') node.run(timer)
        await this.#runAll()
      }
    }
    if (this.#broken !== null) throw this.#broken
  }

  /** Each stream gets a publisher. */
  #publishAll(): void {
    const grant = this.#grants.findLast(({ kind, revoked }) => kind === 'publish' && revoked === 'no')
    if (grant) this.#clients.publishAll(this.#nodes.serving, grant)
  }

  /** Each stream gets a viewer at a node. */
  #watchAll(node: SimNode | undefined): void {
    const grant = this.#grants.find((one) => one.kind === 'subscribe' && one.revoked === 'no' && isUnlimited(one))
    if (node && grant) this.#clients.watchAll(node, grant)
  }

  async #runAll(): Promise<void> {
    await this.#scheduler.settle()
    while (await this.#scheduler.step());
  }

  async #sweepDead(): Promise<void> {
    this.#nodes.endAll()
    await this.#finish(this.#nodes.start('the-last-host'))
    await this.#finish(Promise.resolve(this.#nodes.all.at(-1)?.stop()))
  }

  #checkAlways(): void {
    if (this.#broken !== null) throw this.#broken
    checkAlways(this.#seen)
  }

  get #seen(): Seen {
    return {
      nodes: this.#nodes.all,
      clients: this.#clients.all,
      grants: this.#grants,
      sendings: this.#targets.all,
      links: this.#links,
      hasLosses: this.#nodes.losses > 0,
      isFaultless: this.#faultRate === 0,
      rows: (sql) => this.#rows(sql),
    }
  }

  #rows(sql: string): readonly Record<string, unknown>[] {
    const question = this.#questions.get(sql) ?? this.#database.prepare(sql)
    this.#questions.set(sql, question)
    return question.all()
  }
}

const isUnlimited = ({ maxViewers, maxAddresses }: Grant): boolean => maxViewers === null && maxAddresses === null
