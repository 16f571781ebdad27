import type { AskToMove } from '../core/nodes/drain.ts'
import type { PushRules, Store } from '../store/store.ts'

/** A publisher that pushes to this node. */
export interface PushedSource {
  readonly ingestId: string
  /** Epoch milliseconds. */
  readonly connectedAtMs: number
  /** Those that it met when it connected. */
  readonly rules: PushRules
  /** Absent: its protocol cannot. */
  readonly askToMove?: AskToMove | undefined
  cut(why: string): Promise<void>
}

/**
 * The publishers of this node, checked against their ingests in the store. A new key by this process cuts at once. This check
 * finds other changes, those by the command line and other nodes, and a publisher that was admitted during a change.
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

  /** Cuts publishers that would not be admitted any more, or not as they were. */
  async look(): Promise<void> {
    const looked = [...this.#pushed]
    if (looked.length === 0) return
    const ids = new Set(looked.map(({ ingestId }) => ingestId))
    const rules = await this.#store.read.ingests.pushRules([...ids])
    for (const one of looked) {
      const why = changeOf(one.rules, rules.get(one.ingestId))
      if (why !== null) this.cut(one, why)
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

/** Why a publisher that met `before` has to go; null: it need not. Without `now` its ingest is gone, or has no key any more. */
function changeOf(before: PushRules, now: PushRules | undefined): string | null {
  if (!now || Buffer.compare(now.keyHash, before.keyHash) !== 0) return 'This stream key is no longer valid'
  if (now.type !== before.type) return `This ingest takes ${now.type} now, at another address`
  return numbersOf(now) === numbersOf(before) ? null : 'The audio tracks of this ingest have changed; connect again'
}

const numbersOf = ({ audio }: PushRules): string => audio.map(({ pid }) => pid).join()
