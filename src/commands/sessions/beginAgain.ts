import { TICKET_SHARED } from '../../core/access/refusals.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { SessionContext } from '../context.ts'
import { noteKick } from './close.ts'

/** Ends that were meant for the viewer, whatever its token allows. */
const FINAL: ReadonlySet<SessionEndReason> = new Set(['kicked', 'stopped', TICKET_SHARED.code])

/**
 * A session that began with the ticket of another one has ended. If that was meant for the viewer, the other one ends, too,
 * so that the ticket begins no further session.
 */
export async function endWithTicket(
  ctx: SessionContext,
  { accountId, id, reason }: { accountId: string; id: string; reason: SessionEndReason },
): Promise<void> {
  if (!FINAL.has(reason)) return
  const atMs = ctx.clock.now()
  await ctx.store.transaction(async (tx) => {
    if (await tx.sessions.kick({ accountId, id }, reason)) await noteKick(tx, accountId, atMs)
  })
}

/**
 * Why the viewer of a session may not have another session, at this node; null: the token decides. The session is at
 * another node, is over, or never began.
 * @throws StoreUnavailable
 */
export async function reasonNotToBeginAgain(ctx: SessionContext, sessionId: string): Promise<SessionEndReason | null> {
  const stored = await ctx.store.read.sessions.get(sessionId)
  const reason = stored?.kick ?? stored?.endReason ?? null
  return reason !== null && FINAL.has(reason) ? reason : null
}
