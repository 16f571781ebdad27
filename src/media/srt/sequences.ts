/** Sequence numbers of data packets: 31 bits, which wrap (draft-sharabayko-srt-01 section 3.1). */

const MAX = 0x7fff_ffff
const HALF = 0x3fff_ffff

export const sequenceAfter = (sequence: number, steps = 1): number => (sequence + steps) & MAX

/** How many steps `a` is after `b`, by the shorter way; negative: before it. */
export function stepsBetween(b: number, a: number): number {
  const steps = (a - b) & MAX
  return steps > HALF ? steps - MAX - 1 : steps
}
