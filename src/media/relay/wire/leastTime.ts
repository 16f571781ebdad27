/**
 * How long something takes when nothing is in its way, after one more time was measured: a shorter one is believed at once, a
 * longer one counts for an eighth. Milliseconds; `known`: null before the first.
 */
export function leastTime(known: number | null, ms: number): number {
  if (known === null || ms < known) return ms
  return known + (ms - known) / 8
}
