import type { Store } from '../store/store.ts'

/** An encoder that pushes to this node. */
export interface PushedSource {
  readonly ingestId: string
  /** SHA-256 of the stream key that it came with. */
  readonly keyHash: Uint8Array
  cut(why: string): Promise<void>
}

/**
 * The encoders of this node, held against the keys in the store. A change that this process makes cuts at once; this sees
 * what the command line or another node changed, and an encoder that was let in while its key was being changed.
 */
export class PushedKeys {
  readonly #store: Pick<Store, 'read'>
  readonly #pushed = new Set<PushedSource>()

  constructor({ store }: { readonly store: Pick<Store, 'read'> }) {
    this.#store = store
  }

  /** Returns what to call when the encoder is gone. */
  add(pushed: PushedSource): () => void {
    this.#pushed.add(pushed)
    return () => this.#pushed.delete(pushed)
  }

  /** Cuts those whose key is no longer that of their ingest. */
  async look(): Promise<void> {
    const looked = [...this.#pushed]
    if (looked.length === 0) return
    const ids = new Set(looked.map(({ ingestId }) => ingestId))
    const keys = await this.#store.read.ingests.keyHashes([...ids])
    for (const one of looked) {
      const valid = keys.get(one.ingestId)
      if (valid && Buffer.compare(valid, one.keyHash) === 0) continue
      this.#pushed.delete(one)
      void one.cut('This stream key is no longer valid')
    }
  }
}
