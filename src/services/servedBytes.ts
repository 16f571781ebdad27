import { workApart } from '../base/apart.ts'
import { Batches } from '../base/batches.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { isUnavailable, type ServedBytes as Row, type Store } from '../store/store.ts'
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
  readonly log: Pick<Logger, 'warn' | 'error'>
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
  readonly #writing = new Batches<'all'>(1)

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
    return this.#writing.add('all', () => this.#write())
  }

  async #write(): Promise<void> {
    const { store, log } = this.#options
    const left = new Set(this.#waiting.values())
    if (left.size === 0) return
    this.#waiting = new Map()
    const write = async (part: readonly Row[]): Promise<void> => {
      await store.transaction((tx) => tx.served.add(part))
      for (const row of part) left.delete(row)
    }
    const refuse = (row: Row, error: unknown): void => {
      left.delete(row)
      log.error({ distributionId: row.distributionId, err: error }, 'served bytes cannot be stored and are left out')
    }
    try {
      await workApart([...left], write, { isTransient: isUnavailable, refuse })
    } catch (error) {
      log.warn({ rows: left.size, err: error }, 'served bytes could not be written; trying again')
      this.#putBack(left)
    }
  }

  #putBack(rows: Iterable<Row>): void {
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
