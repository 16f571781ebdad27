import type { Clock } from '../base/clock.ts'
import type { OtherNode } from '../core/nodes/freeNode.ts'
import { nodeStateOf } from '../core/nodes/nodeState.ts'
import type { SessionRegistry } from '../media/sessionRegistry.ts'
import { type Node, type ReportedFacts, type Store, StoreUnavailable } from '../store/store.ts'

/** However many clients this node refuses, it reads once in this time. */
const READ_MS = 1000

/** The other nodes, read when they are needed. */
export class OtherNodes {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #store: Pick<Store, 'read'>
  readonly #sessions: Pick<SessionRegistry, 'node'>
  #latest: { readonly atMs: number; readonly nodes: Promise<readonly OtherNode[]> } | null = null

  constructor(clock: Pick<Clock, 'monotonic'>, store: Pick<Store, 'read'>, sessions: Pick<SessionRegistry, 'node'>) {
    this.#clock = clock
    this.#store = store
    this.#sessions = sessions
  }

  /** As they were at most a second ago. Empty if the database does not answer. */
  list(): Promise<readonly OtherNode[]> {
    const atMs = this.#clock.monotonic()
    if (this.#latest === null || atMs - this.#latest.atMs >= READ_MS) this.#latest = { atMs, nodes: this.#read() }
    return this.#latest.nodes
  }

  async #read(): Promise<readonly OtherNode[]> {
    try {
      const { nodes } = this.#store.read
      const [rows, facts] = await Promise.all([nodes.list(), nodes.facts()])
      return rows.flatMap((row) => {
        const about = facts.get(row.id)
        return about === undefined || row.id === this.#sessions.node ? [] : [otherNode(row, about)]
      })
    } catch (error) {
      if (error instanceof StoreUnavailable) return []
      throw error
    }
  }
}

const otherNode = (node: Node, facts: ReportedFacts): OtherNode => ({
  ...facts,
  url: node.url,
  isServing: nodeStateOf(node) === 'serving',
})
