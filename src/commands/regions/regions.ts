import { namesRegion } from '../../core/clusters.ts'
import type { AccessContext } from '../context.ts'

/** The regions that nodes serve in now, and that of this one, by name. Empty: none has one. */
export async function regionsNow({ store, policy }: Pick<AccessContext, 'store' | 'policy'>): Promise<string[]> {
  const facts = await store.read.nodes.facts()
  const all = [policy.region, ...[...facts.values()].map(({ region }) => region)]
  return [...new Set(all)].filter((region) => region !== '').toSorted()
}

/** The regions that a body may name. Not read for one that names none. */
export const regionsFor = async (ctx: Pick<AccessContext, 'store' | 'policy'>, body: unknown): Promise<string[]> =>
  namesRegion(body) ? regionsNow(ctx) : []
