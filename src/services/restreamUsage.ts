import type { Clock } from '../base/clock.ts'
import { HOUR_MS } from '../base/time.ts'
import type { RestreamHour, Store } from '../store/store.ts'

/** Rows that may wait while the store is unavailable; the oldest are dropped. */
const WAITING_MAX = 10_000

type Feed = Pick<RestreamHour, 'accountId' | 'streamName' | 'feedId'>
type Used = Pick<RestreamHour, 'liveMs' | 'bytesIn' | 'bytesOut'>

/**
 * What the targets of this node's feeds used, by feed and hour. Rows hold totals of their hour, so that a write whose
 * answer was lost may be repeated.
 */
export class RestreamUsage {
  readonly #clock: Clock
  /** By feed and hour. One that is written goes after two hours, because a clock that is an hour ahead may be put back. */
  readonly #rows = new Map<string, RestreamHour>()
  readonly #changed = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds to the present hour. */
  add({ accountId, streamName, feedId }: Feed, { liveMs, bytesIn, bytesOut }: Used): void {
    const hourMs = this.#hourMs()
    const key = `${feedId} ${hourMs}`
    const row = this.#rows.get(key) ?? { accountId, streamName, feedId, hourMs, liveMs: 0, bytesIn: 0, bytesOut: 0 }
    const [oldest] = this.#rows.size >= WAITING_MAX && !this.#rows.has(key) ? this.#rows.keys() : []
    if (oldest !== undefined) this.#drop(oldest)
    this.#rows.set(key, {
      ...row,
      liveMs: row.liveMs + liveMs,
      bytesIn: row.bytesIn + bytesIn,
      bytesOut: row.bytesOut + bytesOut,
    })
    this.#changed.add(key)
  }

  /** Writes the rows that have changed, in one transaction. Call it every few seconds. */
  async write(store: Store): Promise<void> {
    const written = [...this.#changed].flatMap((key) => this.#rows.get(key) ?? [])
    if (written.length > 0) await store.transaction((tx) => tx.restreamHours.put(written))
    const hourMs = this.#hourMs()
    for (const row of written) {
      const key = `${row.feedId} ${row.hourMs}`
      // One that changed meanwhile is another object.
      if (this.#rows.get(key) === row) this.#changed.delete(key)
    }
    for (const [key, row] of this.#rows) {
      if (Math.abs(row.hourMs - hourMs) > HOUR_MS && !this.#changed.has(key)) this.#drop(key)
    }
  }

  #drop(key: string): void {
    this.#rows.delete(key)
    this.#changed.delete(key)
  }

  #hourMs(): number {
    const nowMs = this.#clock.now()
    return nowMs - (nowMs % HOUR_MS)
  }
}
