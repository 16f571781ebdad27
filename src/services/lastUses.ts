import type { Store } from '../store/store.ts'

const USES_MAX = 10_000

/**
 * Collects last uses of bound addresses in memory and saves them together; a crash loses at most one flush interval.
 */
export class LastUses {
  readonly #uses = new Map<string, { tokenId: number; address: string; atMs: number }>()

  note(tokenId: number, address: string, atMs: number): void {
    const key = `${tokenId} ${address}`
    if (this.#uses.size < USES_MAX || this.#uses.has(key)) this.#uses.set(key, { tokenId, address, atMs })
  }

  async flush(store: Store): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = [...this.#uses.values()]
    this.#uses.clear()
    await store.transaction((tx) => tx.bindings.touch(uses))
  }
}
