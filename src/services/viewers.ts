import type { Clock } from '../base/clock.ts'

const SLOT_MS = 5000
/** A player fetches a segment of two seconds or more at a time, and some of them when it begins. */
const SLOTS = 6
/** The slot that is being filled is not counted. */
const KEPT = SLOTS + 1

/**
 * Counts the viewers of each distribution by what they take: a viewer takes a second of media in a second. Nothing that a
 * client sends is kept, and a distribution is kept only while its media is taken.
 */
export class Viewers {
  readonly #clock: Pick<Clock, 'monotonic'>
  #slot = 0
  /** Milliseconds of media by distribution; the newest last. */
  #slots: Map<string, number>[] = []

  constructor({ clock }: { clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock
  }

  /** Media that was handed over to a viewer, milliseconds. */
  took(distributionId: string, viewedMs: number): void {
    if (viewedMs <= 0) return
    this.#turn()
    const now = this.#slots.at(-1)
    now?.set(distributionId, (now.get(distributionId) ?? 0) + viewedMs)
  }

  /** Of 30 seconds that have just passed, to a whole number; a viewer that has just come is not counted yet. */
  of(distributionId: string): number {
    this.#turn()
    return watching(this.#slots.slice(0, -1).map((slot) => slot.get(distributionId) ?? 0))
  }

  /** Of all distributions. */
  get total(): number {
    this.#turn()
    return watching(this.#slots.slice(0, -1).flatMap((slot) => [...slot.values()]))
  }

  #turn(): void {
    const slot = Math.floor(this.#clock.monotonic() / SLOT_MS)
    const passed = Math.min(KEPT, slot - this.#slot)
    for (let count = 0; count < passed; count += 1) this.#slots.push(new Map())
    this.#slots = this.#slots.slice(-KEPT)
    this.#slot = slot
  }
}

const watching = (viewedMs: readonly number[]): number =>
  Math.round(viewedMs.reduce((sum, ms) => sum + ms, 0) / (SLOTS * SLOT_MS))
