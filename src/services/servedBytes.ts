import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { ServedBytes as Row, Store } from '../store/store.ts'
import type { SessionCounts } from '../media/sessionCounts.ts'
import type { Viewers } from './viewers.ts'

/** A quarter of an hour, because offsets of time zones are multiples of it. */
const SLOT_MS = 900_000
/** At this many different rows Sluice writes at once, so that a flood of tracking ids cannot exhaust memory. */
const WAITING_MAX = 10_000

type Served = Omit<Row, 'slotMs'>

type Sent = Pick<SessionCounts, 'otherBytesOut' | 'channelsSentAtMs'>

export interface ServedBytesOptions {
  readonly store: Pick<Store, 'transaction'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Counts the bytes and the playing time that distributions serve in memory, and adds them to the store every few
 * seconds. A crash loses what is not written yet.
 */
export class ServedBytesCounter {
  readonly #options: ServedBytesOptions
  readonly #viewers: Pick<Viewers, 'took'>
  readonly #sent: Sent
  #waiting = new Map<string, Row>()
  #flushing: Promise<void> | null = null

  /** @param sent what this node has sent besides the media of sessions */
  constructor(
    options: ServedBytesOptions,
    viewers: Pick<Viewers, 'took'>,
    sent: Sent = { otherBytesOut: 0, channelsSentAtMs: 0 },
  ) {
    this.#options = options
    this.#viewers = viewers
    this.#sent = sent
  }

  add(served: Served): void {
    this.#viewers.took(served.distributionId, served.viewedMs)
    const nowMs = this.#options.clock.now()
    this.#sent.otherBytesOut += served.bytesOut
    this.#sent.channelsSentAtMs = nowMs
    const slotMs = Math.floor(nowMs / SLOT_MS) * SLOT_MS
    const key = keyOf(served, slotMs)
    const waiting = this.#waiting.get(key)
    if (waiting) add(waiting, served)
    else this.#waiting.set(key, { ...served, slotMs })
    if (this.#waiting.size >= WAITING_MAX) void this.flush()
  }

  /** Writes all counts. If the store is unavailable, they stay in memory, within the bound, until the next call. */
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
      this.#options.log.warn({ rows: rows.length, err: error }, 'served bytes could not be written; trying again')
      this.#putBack(rows)
    }
  }

  #putBack(rows: readonly Row[]): void {
    for (const row of rows) {
      const key = keyOf(row, row.slotMs)
      const waiting = this.#waiting.get(key)
      if (waiting) add(waiting, row)
      else if (this.#waiting.size < WAITING_MAX) this.#waiting.set(key, row)
    }
  }
}

function add(row: Row, { bytesOut, viewedMs }: Served): void {
  row.bytesOut += bytesOut
  row.viewedMs += viewedMs
}

/** Runs for each answer. Only the last part may contain a space. */
const keyOf = ({ distributionId, country, trackingId }: Served, slotMs: number): string =>
  `${distributionId} ${slotMs} ${country} ${trackingId}`
