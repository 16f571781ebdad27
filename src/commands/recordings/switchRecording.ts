import { err, ok, type Result } from '../../base/result.ts'
import { checkStreamName } from '../../core/access/streamName.ts'
import { type Failure, invalid, notFound } from '../../core/errors.ts'
import { readSwitchRecording } from '../../core/recordings/switchSchema.ts'
import { type Actor, audit, type CommandContext } from '../context.ts'
import { NOT_ON_AIR } from '../streams/streamsOnAir.ts'

/**
 * Has all sources of a stream on the air recorded from now on, or no longer, whatever publishers and tokens say. Their nodes
 * do it within a second or two (`followSwitches`). It holds until the broadcast ends, also for a publisher that takes over.
 */
export async function switchRecording(
  ctx: CommandContext,
  actor: Actor,
  streamName: string,
  body: unknown,
): Promise<Result<{ record: boolean }, Failure>> {
  const read = readSwitchRecording(body)
  const problem = checkStreamName(streamName)
  if (problem !== null) return err(invalid({ streamName: [problem] }))
  if (!read.ok) return err(invalid(read.error))
  const stream = { accountId: actor.accountId, streamName }
  const atMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): Promise<Result<{ record: boolean }, Failure>> => {
    if ((await tx.feeds.lockOpen(stream)).length === 0) return err(notFound('streamName', NOT_ON_AIR))
    await tx.feeds.switchRecording(stream, read.value)
    await tx.changes.append({ kind: 'recording', ...stream, id: 0, atMs })
    await audit(tx, actor, atMs, { action: read.value ? 'recording.start' : 'recording.stop', subject: streamName })
    return ok({ record: read.value })
  })
}
