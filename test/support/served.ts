import type { ServedSum, Store } from '../../src/store/store.ts'

/** Everything that the store says a distribution has served, by country and tracking id. */
export function servedBy(store: Pick<Store, 'read'>, distributionId: string): Promise<ServedSum[]> {
  const slot = { stepMs: 900_000, offsetMs: 0 }
  const all = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER, slot, limit: 10_000 }
  return store.read.served.sum({ distributionId, ...all, groupBy: ['country', 'trackingId'] })
}
