import type { ReportBlock } from '../wire/rtcp.ts'

/** Shorter or with fewer packets, a share of them says nothing. */
const WINDOW_MS = 500
const MIN_PACKETS = 20

/** The share that is lost of some streams together, out of receiver reports: those come at any time and about any few packets. */
export class LossWindow {
  readonly #reported = new Map<number, { readonly highest: number; readonly lost: number }>()
  #sinceMs: number | null = null
  #expected = 0
  #lost = 0

  /** The share, 0 to 1, when a window is full; else null. */
  add({ ssrc, highestSequence, packetsLost }: ReportBlock, nowMs: number): number | null {
    const before = this.#reported.get(ssrc)
    this.#reported.set(ssrc, { highest: highestSequence, lost: packetsLost })
    this.#sinceMs ??= nowMs
    if (before !== undefined) {
      this.#expected += Math.max(0, (highestSequence - before.highest) | 0)
      this.#lost += packetsLost - before.lost
    }
    if (nowMs - this.#sinceMs < WINDOW_MS || this.#expected < MIN_PACKETS) return null
    const share = Math.min(1, Math.max(0, this.#lost / this.#expected))
    this.#sinceMs = nowMs
    this.#expected = 0
    this.#lost = 0
    return share
  }
}
