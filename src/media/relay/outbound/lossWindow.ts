import type { ReportBlock } from '../wire/rtcp/rtcp.ts'

/** The loss of a shorter window, or of fewer packets, says nothing. */
const WINDOW_MS = 500
const MIN_PACKETS = 20

/** The loss of several streams together over a window. Single receiver reports may cover only a few packets. */
export class LossWindow {
  readonly #reported = new Map<number, { readonly highest: number; readonly lost: number }>()
  #sinceMs: number | null = null
  /** Of the window that ended last. */
  packets = 0
  #expected = 0
  #lost = 0

  /** The loss, 0 to 1, at the end of a window; else null. */
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
    this.packets = this.#expected
    this.#expected = 0
    this.#lost = 0
    return share
  }
}
