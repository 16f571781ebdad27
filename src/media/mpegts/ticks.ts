/** Times of MPEG-2: 90 kHz, of 33 bits, which wrap after 26.5 hours. */

const WRAP = 2 ** 33
/** Ticks of 90 kHz in a millisecond. */
export const TICKS_PER_MS = 90

/** How many ticks `a` is after `b`, by the shorter way; negative: before it. */
export function ticksBetween(b: number, a: number): number {
  const ahead = (((a - b) % WRAP) + WRAP) % WRAP
  return ahead < WRAP / 2 ? ahead : ahead - WRAP
}

/** Extends the times of a program, so that they do not wrap. */
export class LongTicks {
  #latest: number | null = null

  at(ticks: number): number {
    this.#latest = this.#latest === null ? ticks : this.#latest + ticksBetween(this.#latest, ticks)
    return this.#latest
  }
}
