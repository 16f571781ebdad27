import { err, ok, type Result } from '../../base/result.ts'
import { type Failure, notFound } from '../../core/errors.ts'
import { refuseShared } from '../accounts/operator.ts'
import { type Actor, audit, type CommandContext } from '../context.ts'

/**
 * Asks a node to drain. It begins within a second; a node that drains already goes on. The audit log of every account gets
 * it, because it concerns all.
 */
export async function drainNode(
  ctx: CommandContext,
  actorFor: (accountId: string) => Actor,
  id: string,
): Promise<Result<true, Failure>> {
  const isFound = await ctx.store.transaction(async (tx) => {
    if (!(await tx.nodes.drain(id))) return false
    const change = { action: 'node.drain', subject: id }
    for (const account of await tx.accounts.list()) await audit(tx, actorFor(account.id), ctx.clock.now(), change)
    return true
  })
  return isFound ? ok(true) : err(noNode(id))
}

export const noNode = (id: string): Failure => notFound('nodeId', `No node with id: ${id.slice(0, 64)}`)

/** As `drainNode`, for the holder of an account, who may not end a node for others. A signal can. */
export async function drainNodeOfAccount(
  ctx: CommandContext,
  actor: Actor,
  id: string,
): Promise<Result<true, Failure>> {
  const shared = await refuseShared(ctx, 'sluice node drain')
  return shared === null ? drainNode(ctx, () => actor, id) : err(shared)
}
