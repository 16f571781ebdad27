import type { Actor, CommandContext } from '../context.ts'
import { deleteRecording } from './recordings.ts'

/** In one round; the next one goes on. */
const ROUND_MAX = 200

/**
 * Deletes recordings whose days are over, each with its event and an audit row. The node that has the files removes them. Nodes
 * may do it at once: each recording is deleted once. Returns how many this round deleted.
 */
export async function expireRecordings(ctx: CommandContext): Promise<number> {
  const expired = await ctx.store.read.recordings.expired(ctx.clock.now(), ROUND_MAX)
  let deleted = 0
  for (const { id, accountId } of expired) {
    const result = await deleteRecording(ctx, retentionActor(accountId), id)
    if (result.ok) deleted++
  }
  return deleted
}

const retentionActor = (accountId: string): Actor => ({ kind: 'retention', accountId, address: null, requestId: null })
