import type { Clock } from '../base/clock.ts'
import { HOUR_MS } from '../base/time.ts'
import { inTurns } from '../base/turns.ts'
import { measureHour } from '../core/audience/measure.ts'
import { type AudienceSlot } from '../core/audience/slots.ts'
import type { Store } from '../store/store.ts'

/** Reports are at most this late, beside the time until bytes are in the store. */
const FRESH_MS = 1_000
/** The share of the time that measuring may take: with very many sessions, reports are later instead. */
const SHARE = 1 / 20
/** Hours that are not written yet. There are more only after a long stop, until the job has written them. */
const HOURS_MAX = 3

/** The audience of the hours that are not written yet. */
export interface UnwrittenSlots {
  /** Hours before are in the store. */
  readonly fromMs: number
  readonly slots: readonly AudienceSlot[]
}

/** Measures the hours in progress from the sessions in the store, for all nodes, at most once a second. */
export class AudienceNow {
  readonly #clock: Clock
  /** Of the hashes of viewers; the same on all nodes, so that their sketches can be merged. */
  readonly seed: number
  #measured: Promise<UnwrittenSlots> | null = null
  #freshUntilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, seed: number) {
    this.#clock = clock
    this.seed = seed
  }

  /** All calls during one measurement share it. */
  async read(store: Store): Promise<UnwrittenSlots> {
    if (this.#measured !== null && this.#clock.monotonic() < this.#freshUntilMs) return this.#measured
    const measured = this.#measure(store)
    this.#measured = measured
    this.#freshUntilMs = Number.POSITIVE_INFINITY
    const beginMs = this.#clock.monotonic()
    try {
      return await measured
    } catch (error) {
      this.#measured = null
      throw error
    } finally {
      const nowMs = this.#clock.monotonic()
      this.#freshUntilMs = nowMs + Math.max(FRESH_MS, (nowMs - beginMs) / SHARE)
    }
  }

  async #measure(store: Store): Promise<UnwrittenSlots> {
    const nowMs = this.#clock.now()
    const current = nowMs - (nowMs % HOUR_MS)
    const fromMs = Math.max(await store.read.audience.nextHour(), current - (HOURS_MAX - 1) * HOUR_MS)
    const sessions = await store.read.audience.sessions({ fromMs, untilMs: nowMs }, this.seed)
    const hours = Array.from({ length: (current - fromMs) / HOUR_MS + 1 }, (_, at) => fromMs + at * HOUR_MS)
    const slots: AudienceSlot[] = []
    for (const hourMs of hours) slots.push(...(await inTurns(measureHour(sessions, hourMs))))
    return { fromMs, slots }
  }
}
