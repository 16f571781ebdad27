import { err, type Result } from '../../base/result.ts'
import { type Failure, failure, invalid } from '../../core/errors.ts'
import { NODE_REPORTS, type NodeReport } from '../../core/nodes/nodeReports.ts'
import { parametersOf, wordOf } from '../../core/pages/parameters.ts'
import type { CommandContext } from '../context.ts'
import { askOverStore } from './askOverStore.ts'
import { noNode } from './drain.ts'

/** The reports of this node, as JSON without secrets. */
export type NodeReports = Readonly<Record<NodeReport, () => Promise<Result<unknown, Failure>>>>

/** A report in the store. */
type Answer = Result<unknown, Failure>

/** Proxies give up after a minute. The checks of a node go on, and are its `findings` then. */
const WAIT_MS = 50_000
const NO_ANSWER =
  'The node did not answer within 50 seconds. If it runs its checks, they go on: look again later. Else its log says why.'
const UNKNOWN = 'The node runs a version that does not have this report.'

/**
 * The reports of all nodes: of this one at once, of another over the store. Each report is made once for all who ask at the
 * same time, here and there, so that there are never more at work than kinds of reports, for each node.
 */
export class NodeReporting {
  readonly #ctx: CommandContext
  readonly #nodeId: () => string
  readonly #own: NodeReports
  readonly #asked = new Map<string, Promise<Result<unknown, Failure>>>()
  readonly #working = new Set<string>()

  /** @param nodeId of this node */
  constructor(ctx: CommandContext, nodeId: () => string, own: NodeReports) {
    this.#ctx = ctx
    this.#nodeId = nodeId
    this.#own = own
  }

  /** @param query may name a `node`; without it, it is this one */
  async read(report: NodeReport, query: Record<string, unknown>): Promise<Result<unknown, Failure>> {
    const { node = this.#nodeId() } = parametersOf(query, ['node'])
    if (typeof node !== 'string') return err(invalid({ node: ['may be given once'] }))
    if (node === this.#nodeId()) return this.#own[report]()
    const nodes = await this.#ctx.store.read.nodes.list()
    if (!nodes.some(({ id }) => id === node)) return err(noNode(node))
    const key = `${report} ${node}`
    const asked = this.#asked.get(key) ?? this.#ask(report, node).finally(() => this.#asked.delete(key))
    this.#asked.set(key, asked)
    return asked
  }

  async #ask(report: NodeReport, nodeId: string): Promise<Result<unknown, Failure>> {
    const { clock } = this.#ctx
    const options = { waitMs: WAIT_MS, pause: (ms: number) => clock.sleep(ms) }
    const json = await askOverStore(this.#ctx, { nodeId, report, isCheck: true }, options)
    if (json === null) return err(failure('unavailable', NO_ANSWER))
    return JSON.parse(json) as Answer
  }

  /** Begins what other nodes ask of this one. Does not wait for it, because checks take up to a minute. */
  async answer(): Promise<void> {
    for (const report of await this.#ctx.store.read.reloads.reports(this.#nodeId())) {
      if (this.#working.has(report)) continue
      this.#working.add(report)
      void this.#answer(report).finally(() => this.#working.delete(report))
    }
  }

  async #answer(report: string): Promise<void> {
    const { store, log } = this.#ctx
    try {
      const answer = JSON.stringify((await this.#made(report)) satisfies Answer)
      await store.transaction((tx) => tx.reloads.answerReports({ nodeId: this.#nodeId(), report, answer }))
    } catch (error) {
      log.warn({ err: error, report }, 'a report for another node could not be written')
    }
  }

  async #made(report: string): Promise<Result<unknown, Failure>> {
    const name = wordOf(NODE_REPORTS, report)
    if (name === undefined) return err(failure('unavailable', UNKNOWN))
    return this.#own[name]().catch((error: unknown) => {
      this.#ctx.log.error({ err: error, report }, 'a report failed')
      return err(failure('internal'))
    })
  }
}
