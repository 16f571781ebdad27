import { repeat, type Repetition } from '../../base/repeat.ts'
import type { SessionContext } from '../context.ts'

const LOOK_MS = 250

/** Drains this node, once it is asked to. */
export class NodeDrain {
  /** Resolves when the node has nothing left, or its time is up: then it has to stop. Never rejects. */
  readonly over: Promise<void>
  readonly #ctx: SessionContext
  readonly #drainMs: () => number
  #isOver: () => void = () => undefined
  #looking: Repetition | null = null

  /** @param drainMs read when it begins */
  constructor(ctx: SessionContext, drainMs: () => number) {
    this.#ctx = ctx
    this.#drainMs = drainMs
    this.over = new Promise((resolve) => (this.#isOver = resolve))
  }

  /** Takes nothing new from now on. Idempotent. Shows other nodes that it drains, as soon as the store can be reached. */
  begin(): void {
    const { sessions, clock, log } = this.#ctx
    if (sessions.drain !== null) return
    const [beganAtMs, drainMs] = [clock.monotonic(), this.#drainMs()]
    sessions.drain = { beganAtMs, drainMs }
    log.info({ sessions: sessions.size, seconds: drainMs / 1000 }, 'this node drains: it takes nothing new')
    this.#looking = repeat({ ...this.#ctx, name: 'drain this node', everyMs: LOOK_MS }, () => this.#look())
  }

  stop(): Promise<void> {
    return this.#looking?.stop() ?? Promise.resolve()
  }

  async #look(): Promise<'done' | void> {
    const { sessions, clock, log } = this.#ctx
    const { drain } = sessions
    if (drain === null) return
    const isLate = clock.monotonic() - drain.beganAtMs >= drain.drainMs
    if (sessions.size > 0 && !isLate && (await this.#hasPeers())) return
    log.info({ sessions: sessions.size }, 'this node has drained')
    this.#isOver()
    return 'done'
  }

  /** Whether another node takes sessions. Unknown is yes. */
  async #hasPeers(): Promise<boolean> {
    const { store, sessions } = this.#ctx
    const nodes = await store.read.nodes.list()
    return nodes.some((node) => node.id !== sessions.node && !node.isExpired && node.drainingSinceMs === null)
  }
}
