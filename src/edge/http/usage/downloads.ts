/** Of one account, and of all accounts at a node: each has a page of records in memory. */
export const DOWNLOADS = { ofAccount: 2, ofNode: 8 } as const
/** A client that takes longer for a page gives way. One with 1 Mbit/s takes less. */
const SLOW_MS = 15_000

/** A download under way. */
export interface Download {
  readonly accountId: string
  /** Since when its client has not taken the latest page, monotonic milliseconds; null: the next one is read. */
  waitsSinceMs: number | null
  /** Breaks it off. */
  readonly end: () => void
}

/** The downloads of records at a node. A few clients that read slowly do not keep the others out. */
export class Downloads {
  readonly #all = new Set<Download>()

  /** Adds it. At a node that is full, the download whose client is slowest is broken off. False: there is no room. */
  add(download: Download, nowMs: number): boolean {
    const all = [...this.#all]
    if (all.filter(({ accountId }) => accountId === download.accountId).length >= DOWNLOADS.ofAccount) return false
    if (all.length >= DOWNLOADS.ofNode && !this.#dropSlowest(nowMs)) return false
    this.#all.add(download)
    return true
  }

  delete(download: Download): void {
    this.#all.delete(download)
  }

  #dropSlowest(nowMs: number): boolean {
    const sinceOf = ({ waitsSinceMs }: Download): number => waitsSinceMs ?? nowMs
    const [slowest] = [...this.#all].toSorted((a, b) => sinceOf(a) - sinceOf(b))
    if (slowest === undefined || nowMs - sinceOf(slowest) < SLOW_MS) return false
    this.#all.delete(slowest)
    slowest.end()
    return true
  }
}
