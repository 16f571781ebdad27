import { TICKET_SHARED } from '../../core/access/refusals.ts'
import type { RequestOrigin } from '../../core/access/requestOrigin.ts'
import { recordShared } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import { endSession } from './close.ts'

/** Ends a session whose ticket several players use. The access log shows it, and the session has this end on record. */
export function endShared(ctx: SessionContext, sessionId: string, from: RequestOrigin): void {
  const entry = ctx.sessions.get(sessionId)
  if (entry === undefined || entry.ending !== null) return
  ctx.sessions.counts.refused.add(TICKET_SHARED.code)
  recordShared(ctx, entry.session, from)
  void endSession(ctx, entry, TICKET_SHARED.code)
}
