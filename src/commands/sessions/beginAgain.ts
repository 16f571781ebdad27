import { TICKET_SHARED } from '../../core/access/refusals.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { SessionContext } from '../context.ts'

/** Ends that were meant for the viewer, whatever its token allows. */
const FINAL: ReadonlySet<SessionEndReason> = new Set(['kicked', 'stopped', TICKET_SHARED.code])

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
