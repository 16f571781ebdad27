import type { Store } from '../store/store.ts'

const USES_MAX = 10_000
/** Tokens in one write, so that none is locked for long. */
const TOKENS_AT_ONCE = 500

/**
 * Collects last uses of tokens and of bound addresses in memory and saves them together; a crash loses at most one flush
 * interval.
 */
export class LastUses {
  readonly #addresses = new Map<string, { tokenId: number; address: string; atMs: number }>()
  /** Time of the last use, by token. */
  readonly #tokens = new Map<number, number>()

  /** A token has admitted a client. */
  noteToken(tokenId: number, atMs: number): void {
    if (this.#tokens.size < USES_MAX || this.#tokens.has(tokenId)) this.#tokens.set(tokenId, atMs)
  }

  /** A bound address was used again. */
  note(tokenId: number, address: string, atMs: number): void {
    const key = `${tokenId} ${address}`
    if (this.#addresses.size < USES_MAX || this.#addresses.has(key))
      this.#addresses.set(key, { tokenId, address, atMs })
  }

  async flush(store: Store): Promise<void> {
    await this.#flushAddresses(store)
    await this.#flushTokens(store)
  }

  async #flushAddresses(store: Store): Promise<void> {
    if (this.#addresses.size === 0) return
    const uses = [...this.#addresses.values()]
    this.#addresses.clear()
    await store.transaction((tx) => tx.bindings.touch(uses))
  }

  async #flushTokens(store: Store): Promise<void> {
    const uses = [...this.#tokens].map(([id, atMs]) => ({ id, atMs }))
    this.#tokens.clear()
    for (let at = 0; at < uses.length; at += TOKENS_AT_ONCE) {
      const batch = uses.slice(at, at + TOKENS_AT_ONCE)
      await store.transaction((tx) => tx.tokens.touch(batch))
    }
  }
}
