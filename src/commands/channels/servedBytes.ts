import type { ServedBytes as Row } from '../../store/store.ts'
import type { Context } from '../context.ts'
import type { Viewers } from './viewers.ts'

/** Time zones differ by quarters of an hour. */
const SLOT_MS = 900_000
/** More different rows than this are written at once, so that no flood of tracking ids can take the memory. */
const WAITING_MAX = 10_000

type Served = Omit<Row, 'slotMs'>

/**
 * Counts what distributions serve, bytes and the time that they play, in memory, and adds it to the store every few
 * seconds. A crash loses what waits.
 */
export class ServedBytesCounter {
  readonly #ctx: Pick<Context, 'store' | 'clock' | 'log'>
  readonly #viewers: Pick<Viewers, 'took'>
  #waiting = new Map<string, Row>()
  #flushing: Promise<void> | null = null

  constructor(ctx: Pick<Context, 'store' | 'clock' | 'log'>, viewers: Pick<Viewers, 'took'>) {
    this.#ctx = ctx
    this.#viewers = viewers
  }

  add(served: Served): void {
    this.#viewers.took(served.distributionId, served.viewedMs)
    const slotMs = Math.floor(this.#ctx.clock.now() / SLOT_MS) * SLOT_MS
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
      await this.#ctx.store.transaction((tx) => tx.served.add(rows))
    } catch (error) {
      this.#ctx.log.warn({ rows: rows.length, err: error }, 'served bytes cannot be written now')
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
