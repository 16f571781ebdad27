import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { ServedBytes as Row, Store } from '../store/store.ts'
import type { Viewers } from './viewers.ts'

/** Time zones differ by quarters of an hour. */
const SLOT_MS = 900_000
/** More different rows than this are written at once, so that no flood of tracking ids can take the memory. */
const WAITING_MAX = 10_000

type Served = Omit<Row, 'slotMs'>

export interface ServedBytesOptions {
  readonly store: Pick<Store, 'transaction'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Counts what distributions serve, bytes and the time that they play, in memory, and adds it to the store every few
 * seconds. A crash loses what waits.
 */
export class ServedBytesCounter {
  readonly #options: ServedBytesOptions
  readonly #viewers: Pick<Viewers, 'took'>
  #waiting = new Map<string, Row>()
  #flushing: Promise<void> | null = null

  constructor(options: ServedBytesOptions, viewers: Pick<Viewers, 'took'>) {
    this.#options = options
    this.#viewers = viewers
  }

  add(served: Served): void {
    this.#viewers.took(served.distributionId, served.viewedMs)
    const slotMs = Math.floor(this.#options.clock.now() / SLOT_MS) * SLOT_MS
    const key = keyOf(served, slotMs)
    const known = this.#waiting.get(key)
    if (known) add(known, served)
    else this.#waiting.set(key, { ...served, slotMs })
    if (this.#waiting.size >= WAITING_MAX) void this.flush()
  }

  /** Writes what waits. What cannot be written now stays, within the bound, and is written later. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = null
    })
    return this.#flushing
  }

  async #write(): Promise<void> {
    const rows = [...this.#waiting.values()]
    if (rows.length === 0) return
    this.#waiting = new Map()
    try {
      await this.#options.store.transaction((tx) => tx.served.add(rows))
    } catch (error) {
      this.#options.log.warn({ rows: rows.length, err: error }, 'served bytes cannot be written now')
      this.#putBack(rows)
    }
  }

  #putBack(rows: readonly Row[]): void {
    for (const row of rows) {
      const key = keyOf(row, row.slotMs)
      const known = this.#waiting.get(key)
      if (known) add(known, row)
      else if (this.#waiting.size < WAITING_MAX) this.#waiting.set(key, row)
    }
  }
}

function add(row: Row, { bytesOut, viewedMs }: Served): void {
  row.bytesOut += bytesOut
  row.viewedMs += viewedMs
}

/** Made for each answer. Only the last part may hold a space. */
const keyOf = ({ distributionId, country, trackingId }: Served, slotMs: number): string =>
  `${distributionId} ${slotMs} ${country} ${trackingId}`
