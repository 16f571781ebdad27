/**
 * Updates the estimate of an undisturbed delay with one more measurement: a shorter one counts in full, a longer one for an
 * eighth. Milliseconds; `known`: null before the first.
 */
export function leastTime(known: number | null, ms: number): number {
  if (known === null || ms < known) return ms
  return known + (ms - known) / 8
}
