import { isoTime } from '../../base/time.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, type FieldErrors, type Failure, invalid } from '../../core/errors.ts'
import { type Actor, audit, type CommandContext } from '../context.ts'
import { linkMakerOf } from './linkMaker.ts'
import { recordingLink } from './links.ts'
import { finishedRecording, noFile } from './recordings.ts'

/** A signed link. */
interface SignedLink {
  /** Its path and query. */
  readonly path: string
  readonly expiresOn: string
}

/**
 * A new link to a recording of this host. The audit row has everything but the link.
 *
 * @param hostKey of the files of this node: a link leads to the node that made it
 * @param seconds how long it is valid, as the request says
 */
export async function signRecording(
  ctx: CommandContext,
  actor: Actor,
  { id, hostKey, seconds }: { id: string; hostKey: string; seconds: Result<number, FieldErrors> },
): Promise<Result<SignedLink, Failure>> {
  if (!seconds.ok) return err(invalid(seconds.error))
  const found = await finishedRecording(ctx, actor.accountId, id)
  if (!found.ok) return found
  if (found.value.hostKey !== hostKey) return err(noFile(found.value, hostKey))
  const maker = await linkMakerOf(ctx, actor)
  if (maker === null) return err(failure('unauthorized', 'Unauthorized: no link can be made with this any more.'))
  const nowMs = ctx.clock.now()
  const expiresAtMs = (Math.floor(nowMs / 1000) + seconds.value) * 1000
  const after = { expiresOn: isoTime(expiresAtMs) }
  await ctx.store.transaction((tx) => audit(tx, actor, nowMs, { action: 'recording.sign', subject: id, after }))
  const linked = { accountId: actor.accountId, recordingId: id }
  return ok({ path: recordingLink(ctx, linked, { expiresAtMs, maker }), ...after })
}
