import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import type { WorldTime } from './clock.ts'
import { LEASE_MS, type NodeOptions, SimNode } from './node.ts'
import type { SeededRandom } from './scheduler.ts'

interface NodesOptions extends Omit<NodeOptions, 'hostKey' | 'pid' | 'isRunning'> {
  readonly real: Store
  readonly time: WorldTime
  /** Notes an error of something that must not fail. */
  readonly guard: (work: Promise<unknown>) => Promise<void>
  /** The process of a node has ended, and its clients notice. */
  readonly gone: (node: SimNode) => void
}

/** The processes of all nodes: how they start, stand still, wake and end. */
export class Nodes {
  readonly all: SimNode[] = []
  /** Nodes that died or stood still for too long: what they had not written is lost. */
  losses = 0
  readonly #options: NodesOptions
  readonly #random: SeededRandom
  #pids = 0

  constructor(options: NodesOptions) {
    this.#options = options
    this.#random = options.scheduler.random
  }

  /** Those that run. */
  get serving(): SimNode[] {
    return this.all.filter((node) => node.isRunning && node.isServing)
  }

  /** One that serves. */
  any(): SimNode | undefined {
    return this.#of(this.serving)
  }

  /** Time passes, and wakes those who sleep. */
  pass(ms: number): void {
    this.#options.time.ms += ms
    for (const node of this.all) if (node.isRunning) node.tick()
    for (const node of this.all) this.#expire(node)
  }

  /** The lease of a process that has not run for so long is over, in the time of the database. */
  #expire(node: SimNode): void {
    const { time, database } = this.#options
    if (node.stoppedAtMs === null || node.isExpired || node.isRenewed || time.ms - node.stoppedAtMs < LEASE_MS) return
    node.isExpired = true
    this.losses += 1
    database
      .prepare('update serving_nodes set alive_until_ms = 1 where host_key = ? and pid = ? and alive_until_ms <> -1')
      .run(node.hostKey, node.pid)
  }

  /** A process stands still, sometimes for longer than its lease. */
  stall(): void {
    this.#stand(false)
  }

  /** The main thread of a process hangs, but not the one that renews its lease. So no other node gives it up. */
  hang(): void {
    this.#stand(true)
  }

  /** If that takes long, the timers of the others go on meanwhile. */
  #stand(isRenewed: boolean): void {
    const node = this.any()
    if (node) Object.assign(node, { stoppedAtMs: this.#options.time.ms, isRenewed })
    if (!this.#random.chance(0.5)) return
    this.pass(LEASE_MS + this.#random.below(5_000))
    for (const other of this.serving)
      for (const timer of ['second', 'sweep'] as const) if (this.#random.chance(0.5)) other.run(timer)
  }

  wake(): void {
    const standing = this.all.filter(({ stoppedAtMs, isDead }) => stoppedAtMs !== null && !isDead)
    this.#resume(this.#of(standing))
  }

  /** No process stands still or has much to do any more. */
  wakeAll(): void {
    for (const node of this.all.filter(({ isDead }) => !isDead)) {
      node.isBusy = false
      if (node.stoppedAtMs !== null) this.#resume(node)
    }
  }

  #resume(node: SimNode | undefined): void {
    if (!node) return
    const { guard, scheduler } = this.#options
    Object.assign(node, { stoppedAtMs: null, isRenewed: false, resumedAtMs: this.#options.time.ms })
    // The thread that renews leases may wake long after the others.
    void guard(scheduler.turn(node).then(() => node.renew()))
  }

  crash(): void {
    const node = this.any()
    if (node) this.#gone(node)
    this.losses += 1
  }

  stop(): void {
    const node = this.any()
    if (node && !node.isStopping) void this.#options.guard(this.#stop(node))
  }

  /** Its publishers and viewers move to other nodes; then it ends, as the server does. */
  drain(): void {
    const node = this.any()
    if (node && !node.isStopping) void this.#options.guard(node.drain().then(() => this.#stop(node)))
  }

  async #stop(node: SimNode): Promise<void> {
    await node.stop().finally(() => this.#gone(node))
  }

  #gone(node: SimNode): void {
    this.#end(node)
    this.#options.scheduler.drop(node)
    this.#options.gone(node)
  }

  #end(node: SimNode): void {
    node.isDead = true
    node.stoppedAtMs ??= this.#options.time.ms
  }

  /** Every process has ended. Also the leases of registrations whose answer was lost are over. */
  endAll(): void {
    for (const node of this.all) this.#end(node)
    this.#options.database.exec('update serving_nodes set alive_until_ms = 1 where alive_until_ms <> -1')
    this.pass(LEASE_MS + 1)
  }

  /** A process on the host of one that has died. */
  startAgain(): void {
    const [dead] = this.#deadHosts
    if (dead) void this.#options.guard(this.start(dead))
  }

  /** The same on every such host. */
  async startAllAgain(): Promise<void> {
    await Promise.all(this.#deadHosts.map((hostKey) => this.start(hostKey)))
  }

  get #deadHosts(): string[] {
    const hosts = new Set(this.all.filter(({ isDead }) => !isDead).map(({ hostKey }) => hostKey))
    return [...new Set(this.all.map(({ hostKey }) => hostKey))].filter((hostKey) => !hosts.has(hostKey))
  }

  async start(hostKey: string): Promise<void> {
    const node = new SimNode({
      ...this.#options,
      hostKey,
      pid: ++this.#pids,
      isRunning: (pid) => this.all.some((one) => one.pid === pid && !one.isDead),
    })
    this.all.push(node)
    try {
      await node.start()
    } catch (error) {
      // A server that cannot start ends.
      this.#end(node)
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  setClock(): void {
    const node = this.any()
    if (node) node.clock.aheadMs = this.#random.below(20_000) - 10_000
  }

  /** Its media processes get much to do, or little. */
  load(): void {
    const node = this.any()
    if (node) node.isBusy = !node.isBusy
  }

  readonly #of = <T>(some: readonly T[]): T | undefined => some[this.#random.below(some.length)]
}
