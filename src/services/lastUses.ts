import type { Store, Tx } from '../store/store.ts'

const USES_MAX = 10_000
/** Tokens in one write, so that none is locked for long. */
const TOKENS_AT_ONCE = 500
/** One write a minute for each secret in use, however often it is used. */
const HOLDER_EVERY_MS = 60_000

/** API secrets, and credentials of the channels interface. */
type HolderKind = 'secret' | 'credential'

/**
 * Collects last uses of tokens, bound addresses, secrets and credentials in memory and saves them together; a crash loses
 * at most one flush interval.
 */
export class LastUses {
  readonly #addresses = new Map<string, { tokenId: number; address: string; atMs: number }>()
  /** Time of the last use, by token. */
  readonly #tokens = new Map<number, number>()
  readonly #holders: Readonly<Record<HolderKind, HolderUses>> = {
    secret: new HolderUses(),
    credential: new HolderUses(),
  }

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

  /** A program has used a secret or a credential. */
  noteHolder(kind: HolderKind, id: number, atMs: number): void {
    this.#holders[kind].note(id, atMs)
  }

  /** Saves what was noted. Uses that cannot be saved are lost. */
  async flush(store: Store): Promise<void> {
    await this.#flushAddresses(store)
    await this.#flushTokens(store)
    await this.#flushHolders(store)
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

  async #flushHolders(store: Store): Promise<void> {
    const [secrets, credentials] = [this.#holders.secret.take(), this.#holders.credential.take()]
    if (secrets.length + credentials.length === 0) return
    await store.transaction(async (tx: Tx) => {
      for (const [id, atMs] of secrets) await tx.secrets.touch(id, atMs)
      for (const [id, atMs] of credentials) await tx.credentials.touch(id, atMs)
    })
  }
}

/** By id: the last use that was taken or waits to be. */
class HolderUses {
  readonly #notedAtMs = new Map<number, number>()
  readonly #waiting = new Map<number, number>()

  note(id: number, atMs: number): void {
    const noted = this.#notedAtMs.get(id)
    if (noted !== undefined && atMs < noted + HOLDER_EVERY_MS) return
    if (noted === undefined && this.#notedAtMs.size >= USES_MAX) this.#notedAtMs.clear()
    this.#notedAtMs.set(id, atMs)
    this.#waiting.set(id, atMs)
  }

  /** In the order of ids, so that two nodes lock the rows in one order. */
  take(): [id: number, atMs: number][] {
    const taken = [...this.#waiting].sort(([a], [b]) => a - b)
    this.#waiting.clear()
    return taken
  }
}
