/** What a node says of itself to operators. `examination` runs the checks; `findings`: what the last ones found. */
export const NODE_REPORTS = ['examination', 'findings', 'storage', 'configuration', 'upkeep'] as const

export type NodeReport = (typeof NODE_REPORTS)[number]
