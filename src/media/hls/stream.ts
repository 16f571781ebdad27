import type { Clock } from '../../base/clock.ts'
import type { PieceKey, RenditionFacts, SegmentStore, VariantFacts } from '../../core/hls/facts.ts'
import type { FirstNumbers } from '../../core/hls/numbers.ts'
import { HlsRendition, type RenditionOptions } from './rendition.ts'
import type { StreamNumbers } from './streamNumbers.ts'
import { Waiters } from './waiters.ts'

export interface HlsStreamOptions {
  readonly id: string
  readonly clock: Clock
  readonly store: SegmentStore
  readonly numbers: StreamNumbers
  /** Streams with the same name continue each other. Default: the id. */
  readonly name?: string
  /** The renditions, in the order of the master playlist. */
  readonly renditions: readonly string[]
  readonly listed: number
  readonly maxBytes: number
}

/** `late`: the time is over. `too_far`: it is too far ahead to wait for. */
export type Arrival = 'there' | 'late' | 'too_far'

/** Players without parts stay three segments behind the end. */
const PLAYABLE_SEGMENTS = 3

/** The renditions of one live stream, and the requests that wait for them. */
export class HlsStream {
  readonly id: string
  readonly #store: SegmentStore
  readonly #waiters: Waiters
  readonly #renditions: Map<string, HlsRendition>
  readonly #options: Omit<RenditionOptions, 'name' | 'first'>
  readonly #ended: () => void

  constructor({ id, name: streamName = id, clock, store, numbers, renditions, listed, maxBytes }: HlsStreamOptions) {
    this.id = id
    this.#store = store
    this.#waiters = new Waiters(clock)
    const first = numbers.begin(streamName)
    this.#ended = () => numbers.ended(streamName, this.#nextDiscontinuity)
    this.#options = { stream: id, store, listed, maxBytes }
    this.#renditions = new Map(renditions.map((name) => [name, new HlsRendition({ ...this.#options, name, first })]))
  }

  /** Begins a rendition, or begins it again, with these numbers: nothing of it is left. */
  renew(name: string, first: FirstNumbers, more: Pick<RenditionOptions, 'mayReach'> = {}): HlsRendition {
    const rendition = new HlsRendition({ ...this.#options, ...more, name, first })
    void this.#store.forget(this.id, name, Number.POSITIVE_INFINITY)
    this.#renditions.set(name, rendition)
    return rendition
  }

  /** There is no such rendition any more. */
  remove(name: string): void {
    if (!this.#renditions.delete(name)) return
    void this.#store.forget(this.id, name, Number.POSITIVE_INFINITY)
    this.changed()
  }

  get #nextDiscontinuity(): number {
    return Math.max(...[...this.#renditions.values()].map(({ next }) => next.discontinuity))
  }

  rendition(name: string): HlsRendition | undefined {
    return this.#renditions.get(name)
  }

  /** A request waits for a segment or a part. */
  get isAwaited(): boolean {
    return this.#waiters.size > 0
  }

  /**
   * Waits until players can begin with any rendition without a stall, `ms` at most. False: there is nothing to play. A
   * stream with parts needs its first segment, one without three.
   *
   * @param isInVain whether to give up, looked at with each change
   */
  async ready(ms: number, isInVain = () => false): Promise<boolean> {
    await this.#waiters.until(() => isInVain() || [...this.#renditions.values()].every(isPlayable), ms)
    return [...this.#renditions.values()].some(({ listed }) => listed > 0)
  }

  /** Waits until a condition on this stream holds, `ms` at most. Resolves with whether it does. */
  until(holds: () => boolean, ms: number): Promise<boolean> {
    return this.#waiters.until(holds, ms)
  }

  /** The renditions that can be played. */
  variants(): VariantFacts[] {
    return [...this.#renditions.values()].filter(({ listed }) => listed > 0).map((rendition) => rendition.variant())
  }

  /** Waits until a rendition lists something, `ms` at most. */
  begins(rendition: string, ms: number): Promise<boolean> {
    return this.#waiters.until(() => this.facts(rendition) !== undefined, ms)
  }

  facts(rendition: string): RenditionFacts | undefined {
    return this.#renditions.get(rendition)?.facts() ?? undefined
  }

  /** Waits until a playlist lists this segment, or with `part` this part of it, `ms` at most. */
  async reached(name: string, n: number, part: number | null, ms: number): Promise<Arrival> {
    const rendition = this.#renditions.get(name)
    if (rendition === undefined || rendition.isFar(n, part)) return 'too_far'
    return (await this.#waiters.until(() => rendition.has(n, part), ms)) ? 'there' : 'late'
  }

  /** Waits for the part with this number, when it is the next one. */
  async reachedPart(name: string, n: number, ms: number): Promise<Arrival> {
    const rendition = this.#renditions.get(name)
    if (rendition === undefined || n > rendition.nextPart) return 'too_far'
    const isOver = (): boolean => n < rendition.nextPart || rendition.ended
    return (await this.#waiters.until(isOver, ms)) ? 'there' : 'late'
  }

  /** A piece that is in memory. */
  piece(key: Omit<PieceKey, 'stream'>): Buffer | undefined {
    return this.#store.peek({ ...key, stream: this.id })
  }

  /** How long a piece plays, milliseconds; 0 for what is gone. */
  playsMs(rendition: string, kind: PieceKey['kind'], n: number): number {
    return this.#renditions.get(rendition)?.playsMs(kind, n) ?? 0
  }

  /** Parts or segments were added, or the stream has ended. */
  changed(): void {
    this.#waiters.notify()
  }

  /** Ends all waits, and forgets all pieces. */
  stop(): void {
    this.#waiters.stop()
    this.#ended()
    for (const name of this.#renditions.keys()) void this.#store.forget(this.id, name, Number.POSITIVE_INFINITY)
  }
}

const isPlayable = ({ listed, targets, ended }: HlsRendition): boolean =>
  listed >= (targets?.partSeconds === null && !ended ? PLAYABLE_SEGMENTS : 1)
