import { type ActiveFeed, streamKey } from '../../media/sessionRegistry.ts'
import type { SessionContext } from '../context.ts'
import { emitThumbnail } from '../webhooks/emit.ts'

/** Emits a thumbnail of a feed. A feed that is over emits none. */
export async function captureThumbnail(ctx: SessionContext, feed: ActiveFeed, image: Uint8Array): Promise<void> {
  const { accountId, streamName, feedId, tokenId } = feed
  if (!ctx.sessions.feedsOf(accountId, streamName).some((active) => active.feedId === feedId)) return
  const atMs = ctx.clock.now()
  const streamId = streamKey(accountId, streamName)
  const thumbnail = { kind: 'thumbnail', feedId, streamId, tokenId, image, subject: streamName } as const
  await ctx.store.transaction((tx) => emitThumbnail(tx, { accountId, atMs }, thumbnail))
}
