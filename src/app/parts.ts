import { allInTurn } from '../base/allEnded.ts'
import type { Clock } from '../base/clock.ts'
import type { StopTimeout } from '../store/stopTimeout.ts'

/**
 * The order in which the parts stop. Connections first: clients leave with their next answers meanwhile. Then sessions, while
 * their edges are open, so that long answers to viewers end with them. Deliveries late, because all other parts may cause some.
 * Leases last, because the other parts still hold some.
 */
const STOP_ORDER = [
  'connections',
  'reloads',
  'drain',
  'cascade',
  'pulls',
  'sessions',
  'restreams',
  'rtmp',
  'srt',
  'channels',
  'engineRestreams',
  'viewerEncoding',
  'packager',
  'http',
  'redirect',
  'playback',
  'engine',
  'deliveries',
  'tls',
  'leases',
] as const

interface PartsOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** How long requests, recordings and deliveries may go on when the parts stop, all together. Read at each use. */
  readonly graceMs: () => number
  readonly stopTimeout: StopTimeout
}

/** The parts of a server that runs. */
export class Parts {
  readonly #options: PartsOptions
  readonly #stops = new Map<(typeof STOP_ORDER)[number], () => unknown>()
  /** Monotonic milliseconds; null: they run. */
  #stoppedAtMs: number | null = null

  constructor(options: PartsOptions) {
    this.#options = options
  }

  /** What is left of the grace, milliseconds. */
  get graceMs(): number {
    const nowMs = this.#options.clock.monotonic()
    return Math.max(0, (this.#stoppedAtMs ?? nowMs) + this.#options.graceMs() - nowMs)
  }

  add(name: (typeof STOP_ORDER)[number], stop: () => unknown): void {
    this.#stops.set(name, stop)
  }

  /** Adds a part that runs. */
  started<T extends { stop(): Promise<unknown> }>(name: (typeof STOP_ORDER)[number], part: T): T {
    this.add(name, () => part.stop())
    return part
  }

  /** Stops all, even if one fails, for example because the database is gone. Then it rejects as the first that failed. */
  stop(): Promise<void> {
    this.#stoppedAtMs ??= this.#options.clock.monotonic()
    this.#options.stopTimeout.begin()
    return allInTurn(STOP_ORDER.map((name) => () => this.#stops.get(name)?.()))
  }
}
