/** Frames in a second, as cameras and encoders have them. */
const USUAL = [12, 15, 24_000 / 1001, 24, 25, 30_000 / 1001, 30, 48, 50, 60_000 / 1001, 60, 90, 100, 120]
/** Times in whole milliseconds are as inexact as this over two seconds. */
const INEXACT = 0.0006

/**
 * The frame rate of media that was measured over a segment. Rounded, so that renditions of several engines with the same
 * source are equal to players, which then take one for the other.
 */
export function usualFrameRate(measured: number): number {
  const nearest = USUAL.toSorted((a, b) => Math.abs(a - measured) - Math.abs(b - measured))[0] ?? measured
  return Math.abs(nearest - measured) <= nearest * INEXACT ? nearest : Math.max(1, Math.round(measured))
}
