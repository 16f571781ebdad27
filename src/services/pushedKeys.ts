import type { AskToMove } from '../core/nodes/drain.ts'
import type { Store } from '../store/store.ts'

/** A publisher that pushes to this node. */
export interface PushedSource {
  readonly ingestId: string
  /** Epoch milliseconds. */
  readonly connectedAtMs: number
  /** SHA-256 of the stream key that it connected with. */
  readonly keyHash: Uint8Array
  /** Absent: its protocol cannot. */
  readonly askToMove?: AskToMove | undefined
  cut(why: string): Promise<void>
}

/**
 * The publishers of this node, checked against the keys in the store. A change by this process cuts at once. This check
 * finds changes by the command line and other nodes, and a publisher that was admitted during a change of its key.
 */
export class PushedKeys {
  readonly #store: Pick<Store, 'read'>
  readonly #pushed = new Set<PushedSource>()

  constructor({ store }: { readonly store: Pick<Store, 'read'> }) {
    this.#store = store
  }

  /** Returns a function to call when the publisher disconnects. */
  add(pushed: PushedSource): () => void {
    this.#pushed.add(pushed)
    return () => this.#pushed.delete(pushed)
  }

  /** Cuts publishers whose key is no longer the key of their ingest. */
  async look(): Promise<void> {
    const looked = [...this.#pushed]
    if (looked.length === 0) return
    const ids = new Set(looked.map(({ ingestId }) => ingestId))
    const keys = await this.#store.read.ingests.keyHashes([...ids])
    for (const one of looked) {
      const valid = keys.get(one.ingestId)
      if (valid && Buffer.compare(valid, one.keyHash) === 0) continue
      this.cut(one, 'This stream key is no longer valid')
    }
  }

  /** The newest publisher of each ingest. */
  newest(): PushedSource[] {
    return [...new Map([...this.#pushed].map((one) => [one.ingestId, one])).values()]
  }

  /** Disconnects a publisher, with a reason for its operator. */
  cut(one: PushedSource, why: string): void {
    this.#pushed.delete(one)
    void one.cut(why)
  }
}
