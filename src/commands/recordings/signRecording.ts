import { err, ok, type Result } from '../../base/result.ts'
import { type Failure, invalid } from '../../core/errors.ts'
import { readSignRecording } from '../../core/recordings/rules.ts'
import { type Actor, audit, type CommandContext } from '../context.ts'
import { finishedRecording, noFile } from './recordings.ts'

/**
 * When a link to a recording of this host ends, epoch milliseconds, in whole seconds. The audit row has everything but the
 * link.
 *
 * @param hostKey of the files of this node: a link leads to the node that made it
 */
export async function signRecording(
  ctx: CommandContext,
  actor: Actor,
  { id, hostKey, body }: { readonly id: string; readonly hostKey: string; readonly body: unknown },
): Promise<Result<number, Failure>> {
  const read = readSignRecording(body)
  if (!read.ok) return err(invalid(read.error))
  const found = await finishedRecording(ctx, actor.accountId, id)
  if (!found.ok) return found
  if (found.value.hostKey !== hostKey) return err(noFile(found.value, hostKey))
  const nowMs = ctx.clock.now()
  const expiresAtMs = (Math.floor(nowMs / 1000) + read.value) * 1000
  const after = { expiresOn: new Date(expiresAtMs).toISOString() }
  await ctx.store.transaction((tx) => audit(tx, actor, nowMs, { action: 'recording.sign', subject: id, after }))
  return ok(expiresAtMs)
}
