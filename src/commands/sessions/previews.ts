import { StoreUnavailable } from '../../store/store.ts'
import { isSessionOf } from '../access/previewPass.ts'
import type { SessionContext } from '../context.ts'
import { endSession } from './close.ts'

/** Ends the previews of this node whose user has signed out, or was deleted. */
export async function endStalePreviews(ctx: SessionContext): Promise<void> {
  for (const entry of ctx.sessions.all()) {
    const { credential } = entry.request
    if (credential.kind !== 'preview') continue
    try {
      const isOpen = await isSessionOf(ctx, credential.sessionValue, credential.accountId)
      if (!isOpen) void endSession(ctx, entry, 'kicked')
    } catch (error) {
      // The next run looks again. It keeps no other preview open.
      if (!(error instanceof StoreUnavailable))
        ctx.log.error({ sessionId: entry.session.id, err: error }, 'a preview could not be checked; trying again')
    }
  }
}
