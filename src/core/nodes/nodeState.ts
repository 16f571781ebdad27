/** `draining`: it takes nothing new, and ends soon. `silent`: its lease has expired. The others end its sessions. */
export type NodeState = 'serving' | 'draining' | 'silent'

/** The state of a node by its row. */
export function nodeStateOf(node: { readonly isExpired: boolean; readonly drainingSinceMs: number | null }): NodeState {
  if (node.isExpired) return 'silent'
  return node.drainingSinceMs === null ? 'serving' : 'draining'
}
