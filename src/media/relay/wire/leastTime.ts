/**
 * Updates the estimate of an undisturbed delay with one more measurement: a shorter one counts in full, a longer one for an
 * eighth. Milliseconds; `before`: null before the first.
 */
export function leastTime(before: number | null, ms: number): number {
  if (before === null || ms < before) return ms
  return before + (ms - before) / 8
}
