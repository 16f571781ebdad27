import type { Clock } from '../base/clock.ts'

const SLOT_MS = 5000
/** A player fetches segments of two seconds or more, and several of them at the start. */
const SLOTS = 6
/** The last slot is still filling and does not count. */
const SLOTS_MAX = SLOTS + 1

/**
 * Counts the viewers of each distribution by the media that Sluice serves: a viewer takes one second of media per
 * second. It stores nothing that a client sends, and a distribution only while viewers take its media.
 */
export class Viewers {
  readonly #clock: Pick<Clock, 'monotonic'>
  #slot = 0
  /** Milliseconds of media by distribution; the newest slot is last. */
  #slots: Map<string, number>[] = []

  constructor({ clock }: { clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock
  }

  /** Counts media that was handed to a viewer, in milliseconds. */
  took(distributionId: string, viewedMs: number): void {
    if (viewedMs <= 0) return
    this.#turn()
    const now = this.#slots.at(-1)
    now?.set(distributionId, (now.get(distributionId) ?? 0) + viewedMs)
  }

  /** The average over the last 30 seconds, rounded. A viewer that has just started does not count yet. */
  of(distributionId: string): number {
    this.#turn()
    return watching(this.#slots.slice(0, -1).map((slot) => slot.get(distributionId) ?? 0))
  }

  /** The viewers of all distributions. */
  get total(): number {
    this.#turn()
    return watching(this.#slots.slice(0, -1).flatMap((slot) => [...slot.values()]))
  }

  #turn(): void {
    const slot = Math.floor(this.#clock.monotonic() / SLOT_MS)
    const passed = Math.min(SLOTS_MAX, slot - this.#slot)
    for (let count = 0; count < passed; count += 1) this.#slots.push(new Map())
    this.#slots = this.#slots.slice(-SLOTS_MAX)
    this.#slot = slot
  }
}

const watching = (viewedMs: readonly number[]): number =>
  Math.round(viewedMs.reduce((sum, ms) => sum + ms, 0) / (SLOTS * SLOT_MS))
