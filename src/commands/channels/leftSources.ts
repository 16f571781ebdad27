import type { Tx } from '../../store/store.ts'
import type { Context } from '../context.ts'

const BATCH = 200
/** In one go; what is left then is done the next time. */
const BATCHES_MAX = 1000
/** Deliveries that are younger may still be written to. */
const SETTLED_MS = 600_000

/**
 * Takes the sources of pulls out of what earlier versions have put on record: in small transactions, so that nobody waits
 * for them. Costs next to nothing when there are none.
 */
export async function removeLeftSources({ store, clock }: Pick<Context, 'store' | 'clock'>): Promise<void> {
  const untilMs = clock.now() - SETTLED_MS
  const batches: ((tx: Tx) => Promise<number>)[] = [
    (tx) => tx.leftSources.ofAudit(BATCH),
    (tx) => tx.leftSources.ofRuns(BATCH),
    (tx) => tx.leftSources.ofDeliveries(untilMs, BATCH),
  ]
  for (const batch of batches) {
    for (let done = 0; done < BATCHES_MAX; done += 1) if ((await store.transaction(batch)) < BATCH) break
  }
  await store.transaction((tx) => tx.leftSources.ofEngines())
}
