import { workApart } from '../base/apart.ts'
import { Batches } from '../base/batches.ts'
import type { Clock } from '../base/clock.ts'
import { timeOrderedId } from '../base/ids.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
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
  readonly random: Random
  readonly log: Pick<Logger, 'warn' | 'error'>
}

/** Rows that are added together, and their number: the store adds those of a number once. */
interface Part {
  readonly rows: readonly Row[]
  readonly number: number
}

/**
 * Counts the bytes and the playing time that distributions serve in memory, and adds them to the store every few
 * seconds. A crash loses what is not written yet. A part whose answer was lost is sent again as it was, with its number, which is a
 * position as in the log of a cache.
 */
export class ServedBytesCounter {
  readonly #options: ServedBytesOptions
  readonly #viewers: Pick<Viewers, 'took'>
  readonly #sent: Sent
  /** Of the numbers. */
  readonly #id: string
  #number = 0
  /** It may be in the store. */
  #unsure: Part | null = null
  #waiting = new Map<string, Row>()
  readonly #writing = new Batches<'all'>(1)

  /** @param sent what this node has sent besides the media of sessions */
  constructor(
    options: ServedBytesOptions,
    viewers: Pick<Viewers, 'took'>,
    sent: Sent = { otherBytesOut: 0, channelsSentAtMs: 0 },
  ) {
    this.#options = options
    this.#id = timeOrderedId(options.clock.now(), options.random)
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
    const { log } = this.#options
    const parts = [this.#unsure?.rows ?? [], [...this.#waiting.values()]]
    const left = new Set(parts.flat())
    this.#waiting = new Map()
    const write = async (rows: readonly Row[]): Promise<void> => {
      await this.#addOnce(rows)
      for (const row of rows) left.delete(row)
    }
    const refuse = (row: Row, error: unknown): void => {
      left.delete(row)
      log.error({ distributionId: row.distributionId, err: error }, 'served bytes cannot be stored and are left out')
    }
    try {
      for (const rows of parts)
        if (rows.length > 0) await workApart(rows, write, { isTransient: isUnavailable, refuse })
    } catch (error) {
      log.warn({ rows: left.size, err: error }, 'served bytes could not be written; trying again')
      for (const row of this.#unsure?.rows ?? []) left.delete(row)
      this.#putBack(left)
    }
  }

  async #addOnce(rows: readonly Row[]): Promise<void> {
    const { store, clock } = this.#options
    if (this.#unsure?.rows !== rows) this.#unsure = { rows, number: ++this.#number }
    const { number } = this.#unsure
    try {
      await store.transaction(async (tx) => {
        const range = { id: this.#id, from: number - 1, to: number }
        if (await tx.cacheLogs.advance(range, clock.now())) await tx.served.add(rows)
      })
    } catch (error) {
      if (!isUnavailable(error)) this.#unsure = null
      throw error
    }
    this.#unsure = null
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
