import type { CommandContext } from '../context.ts'

/** The regions that nodes serve in now, by name. Empty: none has one. */
export async function regionsNow({ store }: Pick<CommandContext, 'store'>): Promise<string[]> {
  const facts = await store.read.nodes.facts()
  return [...new Set([...facts.values()].map(({ region }) => region).filter((region) => region !== ''))].toSorted()
}
