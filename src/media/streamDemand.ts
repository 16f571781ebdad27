import { type Clock, pause } from '../base/clock.ts'
import type { Pull } from '../core/pulls/types.ts'

/** A pull on demand, as this node last read it. */
export type DemandedPull = Pick<Pull, 'id' | 'accountId' | 'streamName' | 'when' | 'demandAtMs' | 'node' | 'state'>

/**
 * Streams that viewers of this node wait for at a time. Viewers of further ones are answered at once. Any number wait for one
 * stream, since each has a connection, which are bounded: so the viewers of one leave a place for those of the others.
 */
const STREAMS_MAX = 1000

/**
 * The streams whose sources are dialled when a viewer comes, and the viewers of this node who wait for them, or for a publisher
 * that is between two nodes. Without such streams it is empty, and costs a look into an empty map.
 */
export class StreamDemand {
  #pulls = new Map<string, readonly DemandedPull[]>()
  readonly #waiting = new Map<string, Set<AbortController>>()
  readonly #listeners = new Set<() => void>()

  /** Viewers who wait. */
  get waiters(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** The pulls on demand of a stream. @param key see `streamKey` */
  of(key: string): readonly DemandedPull[] {
    return this.#pulls.get(key) ?? []
  }

  /** Replaces the list of pulls on demand. Viewers of streams that are gone from it wait no longer. */
  follow(pulls: readonly (DemandedPull & { readonly key: string })[]): void {
    this.#pulls = Map.groupBy(pulls, ({ key }) => key)
    for (const key of this.#waiting.keys()) if (!this.#pulls.has(key)) this.begun(key)
  }

  /** A viewer wants these, and the store knows it, or soon does. */
  noted(key: string, ids: readonly number[], atMs: number): void {
    const noted = this.of(key).map((pull) => (ids.includes(pull.id) ? { ...pull, demandAtMs: atMs } : pull))
    if (noted.length > 0) this.#pulls.set(key, noted)
  }

  /** Calls `listener` when the store has a new wish of this node; it must not throw. Returns the function that unsubscribes. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The store has a new wish of this node. */
  written(): void {
    for (const listener of this.#listeners) listener()
  }

  /** True: the stream may have begun. False: it has not within `timeoutMs`, or too many streams are awaited. */
  async wait(key: string, clock: Pick<Clock, 'sleep'>, timeoutMs: number): Promise<boolean> {
    const waiting = this.#waiting.get(key) ?? new Set()
    if (waiting.size === 0 && this.#waiting.size >= STREAMS_MAX) return false
    const waiter = new AbortController()
    this.#waiting.set(key, waiting.add(waiter))
    await pause(clock, timeoutMs, waiter.signal)
    waiting.delete(waiter)
    if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
    return waiter.signal.aborted
  }

  /** A stream is on the air, at whatever node, or will not be: wakes its viewers. */
  begun(key: string): void {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) return
    this.#waiting.delete(key)
    for (const waiter of waiting) waiter.abort()
  }

  /** The streams that viewers wait for. */
  get awaited(): Iterable<string> {
    return this.#waiting.keys()
  }
}
