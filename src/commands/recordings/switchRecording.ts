import { err, ok, type Result } from '../../base/result.ts'
import { type Failure, failure, invalid, notFound } from '../../core/errors.ts'
import { readSwitchRecording } from '../../core/recordings/switchSchema.ts'
import type { ActiveFeed } from '../../media/sessionRegistry.ts'
import { type Actor, audit, type SessionContext } from '../context.ts'
import { remoteFeed } from '../sessions/revoke.ts'
import { NOT_ON_AIR } from '../streams/streamsOnAir.ts'

export interface RecordingSwitch {
  readonly streamName: string
  readonly body: unknown
  /** Begins or ends the recording of a feed; a feed that is recorded already goes on. */
  readonly record: (feed: ActiveFeed, on: boolean) => void
}

/**
 * Has all sources of a stream recorded from now on, or no longer, whatever its token says. It holds for the broadcasts on the
 * air; the next ones follow their token. Only at the node with the media. Returns whether it is recorded.
 */
export async function switchRecording(
  ctx: SessionContext,
  actor: Actor,
  { streamName, body, record }: RecordingSwitch,
): Promise<Result<{ record: boolean }, Failure>> {
  const read = readSwitchRecording(body)
  if (!read.ok) return err(invalid(read.error))
  const { accountId } = actor
  const feeds = (): ActiveFeed[] => ctx.sessions.feedsOf(accountId, streamName)
  if (feeds().length === 0) return err(await whyNone(ctx, accountId, streamName))
  const action = read.value ? 'recording.start' : 'recording.stop'
  await ctx.store.transaction((tx) => audit(tx, actor, ctx.clock.now(), { action, subject: streamName }))
  for (const feed of feeds()) record(feed, read.value)
  return ok({ record: read.value })
}

async function whyNone(ctx: SessionContext, accountId: string, streamName: string): Promise<Failure> {
  const there = await remoteFeed(ctx, { accountId, streamName }, null)
  if (!there) return notFound('streamName', NOT_ON_AIR)
  const where = there.url === null ? '' : `: ${there.url}`
  return failure('conflict', `The stream is at another node, which records it${where}`)
}
