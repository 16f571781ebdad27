/** Sequence numbers until they roll over. */
export const SEQUENCES = 0x10000
const HALF = 0x8000

/**
 * The index that a packet most likely has: the one nearest to the highest seen so far (RFC 3711 section 3.3.1). An index is
 * the 16-bit sequence number with its roll-over count in front; 48 bits, which a number holds exactly. `highest` is -1 before
 * the first packet.
 */
export function estimateIndex(highest: number, sequence: number): number {
  if (highest < 0) return sequence
  const rollovers = Math.floor(highest / SEQUENCES)
  const ahead = sequence - (highest % SEQUENCES)
  if (ahead > HALF && rollovers > 0) return (rollovers - 1) * SEQUENCES + sequence
  if (ahead < -HALF) return (rollovers + 1) * SEQUENCES + sequence
  return rollovers * SEQUENCES + sequence
}

/**
 * How late a packet may be, in packets. A retransmission arrives up to a second late, which is about 2,000 packets of a fast
 * stream; RFC 3711 requires at least 64.
 */
const WINDOW = 4096

/** Which of the latest indexes have arrived, so that none is accepted twice (RFC 3711 section 3.3.2). */
export class ReplayWindow {
  /** The highest index taken, -1 before the first. */
  highest = -1
  readonly #seen = new Uint8Array(WINDOW)

  /** Whether a packet with this index may still be taken. */
  isFresh(index: number): boolean {
    if (index > this.highest) return true
    return index > this.highest - WINDOW && this.#seen[index % WINDOW] === 0
  }

  /** Call it only for packets that proved to be authentic. */
  take(index: number): void {
    this.#forgetUpTo(index)
    this.#seen[index % WINDOW] = 1
    this.highest = Math.max(this.highest, index)
  }

  /** Of the skipped ones none has arrived. A sender may skip thousands with each packet, so they are not gone through one by one. */
  #forgetUpTo(index: number): void {
    const skipped = index - this.highest - 1
    if (skipped <= 0) return
    const from = (this.highest + 1) % WINDOW
    const until = from + Math.min(skipped, WINDOW)
    this.#seen.fill(0, from, until).fill(0, 0, Math.max(0, until - WINDOW))
  }
}
