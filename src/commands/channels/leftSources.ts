import type { Tx } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'

const BATCH = 200
/** Batches in one run; the next run does the rest. */
const BATCHES_MAX = 1000
/** Younger deliveries may still change. */
const SETTLED_MS = 600_000

/**
 * Removes pull source URLs that earlier versions recorded. Works in small transactions, so that other writers do not
 * wait. Costs almost nothing when there are none.
 */
export async function removeLeftSources({ store, clock }: Pick<CommandContext, 'store' | 'clock'>): Promise<void> {
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
