import type { StreamRef } from '../core/streams/streamId.ts'
import type { Clock } from '../base/clock.ts'
import type { LinkProblem } from '../core/nodes/nodeLinks.ts'

/**
 * A node that did not answer, or whose media ports do not, is not tried again before the first of these times, and twice as
 * long after each further failure up to the second: one moment in which it was busy costs its viewers little.
 */
const UNREACHABLE_MS = { first: 2000, most: 30_000 }
/** How long a node reports why a stream did not come, unless one of that node has come since. */
const PROBLEM_MS = 600_000

/** Why streams of a node do not come. */
interface Failure {
  readonly problem: LinkProblem
  readonly atMs: number
  /** How long the node is not tried again. */
  readonly pauseMs: number
}

/** Which nodes, and which of their streams, are not asked again yet. Times are monotonic milliseconds. */
export class LinkPauses {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** By node. */
  readonly #failures = new Map<string, Failure>()
  /** By `streamAt`. */
  readonly #untilMs = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Why streams of other nodes do not come, by node. */
  get problems(): ReadonlyMap<string, LinkProblem> {
    return new Map([...this.#failures].map(([node, { problem }]) => [node, problem]))
  }

  /** Whether it is too soon to ask a node for a stream again. */
  has(node: string, stream: StreamRef): boolean {
    const nowMs = this.#clock.monotonic()
    const failed = this.#failures.get(node)
    const untilMs = this.#untilMs.get(streamAt(node, stream)) ?? Number.NEGATIVE_INFINITY
    return (failed !== undefined && nowMs - failed.atMs < failed.pauseMs) || nowMs < untilMs
  }

  /** A node does not have a stream now. Its other streams can be asked for. */
  add(node: string, stream: StreamRef, ms: number): void {
    this.#untilMs.set(streamAt(node, stream), this.#clock.monotonic() + ms)
  }

  /** A node lends nothing now, the longer the more often it failed. */
  fail(node: string, problem: LinkProblem): void {
    const before = this.#failures.get(node)
    const pauseMs = before === undefined ? UNREACHABLE_MS.first : Math.min(UNREACHABLE_MS.most, 2 * before.pauseMs)
    this.#failures.set(node, { problem, atMs: this.#clock.monotonic(), pauseMs })
  }

  /** A stream has come from this node. */
  succeed(node: string): void {
    this.#failures.delete(node)
  }

  /** Forgets what is over. Call it every second. */
  tick(): void {
    const nowMs = this.#clock.monotonic()
    for (const [node, { atMs }] of this.#failures) if (nowMs - atMs >= PROBLEM_MS) this.#failures.delete(node)
    for (const [name, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(name)
  }
}

/** A stream as one node has it. */
const streamAt = (node: string, { accountId, streamName }: StreamRef): string => `${node} ${accountId}/${streamName}`
