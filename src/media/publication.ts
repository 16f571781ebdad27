import type { Said } from '../core/notices.ts'
import type { LinkTotals } from './measure/linkMeter.ts'
import type { PublishAnswer, PublishEnd } from './publishing.ts'

export type Admitted = Extract<PublishAnswer, { ok: true }>

/** What an admitted publisher publishes. It reports bytes, and its end exactly once. */
export class Publication {
  readonly #admitted: Admitted
  #bytesReported = 0
  #isOver = false

  constructor(admitted: Admitted) {
    this.#admitted = admitted
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** @param total bytes that the connection has received so far */
  reportBytes(total: number, link?: LinkTotals): void {
    if (this.#isOver || total === this.#bytesReported) return
    this.#bytesReported = total
    this.#admitted.bytes(total, link)
  }

  /** @param why what was wrong with what came */
  end(reason: PublishEnd, totalBytes: number, why?: Said): void {
    if (this.#isOver) return
    this.reportBytes(totalBytes)
    this.#isOver = true
    try {
      this.#admitted.sink.end(reason)
    } finally {
      this.#admitted.ended(reason, why)
    }
  }
}
