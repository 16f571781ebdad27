import type { Store, Tx } from '../store/store.ts'

const USES_MAX = 10_000

/** One write a minute for each secret in use, however often it is used. */
const HOLDER_EVERY_MS = 60_000

/** API secrets, and credentials of the channels interface. */
type HolderKind = 'secret' | 'credential'

/**
 * Collects last uses of bound addresses, secrets and credentials in memory and saves them together; a crash loses at most
 * one flush interval.
 */
export class LastUses {
  readonly #uses = new Map<string, { tokenId: number; address: string; atMs: number }>()
  readonly #holders: Readonly<Record<HolderKind, HolderUses>> = {
    secret: new HolderUses(),
    credential: new HolderUses(),
  }

  note(tokenId: number, address: string, atMs: number): void {
    const key = `${tokenId} ${address}`
    if (this.#uses.size < USES_MAX || this.#uses.has(key)) this.#uses.set(key, { tokenId, address, atMs })
  }

  noteHolder(kind: HolderKind, id: number, atMs: number): void {
    this.#holders[kind].note(id, atMs)
  }

  async flush(store: Store): Promise<void> {
    const uses = [...this.#uses.values()]
    const [secrets, credentials] = [this.#holders.secret.take(), this.#holders.credential.take()]
    if (uses.length + secrets.length + credentials.length === 0) return
    this.#uses.clear()
    await store.transaction(async (tx: Tx) => {
      await tx.bindings.touch(uses)
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
