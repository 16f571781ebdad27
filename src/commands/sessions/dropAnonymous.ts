import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import { streamIdOf, type StreamRef } from '../../core/streams/streamId.ts'
import type { SessionContext } from '../context.ts'
import { endSession } from './close.ts'

/**
 * Ends viewers of this node who came without a token, if the feed that they watch needs one now, at whichever node it is. Players of
 * HLS get the end of the stream.
 * @param streams where feeds may have begun; null: everywhere
 */
export function dropAnonymous(ctx: SessionContext, streams: readonly StreamRef[] | null): void {
  const { sessions } = ctx
  const secured = new Set<string>()
  for (const { accountId, streamName } of streams ?? sessions.streams.all()) {
    const isWatched = (sessions.streams.of(accountId, streamName)?.whep ?? 0) > 0
    if (isWatched && sessions.feeds.onAir(accountId, streamName)?.secured)
      secured.add(streamIdOf({ accountId, streamName }))
  }
  if (secured.size === 0) return
  for (const entry of sessions.all()) {
    const { action, protocol, tokenId, accountId, streamName, sourceId } = entry.session
    if (action !== 'view' || tokenId !== null || !PROTOCOL_FACTS[protocol].connectsLater) continue
    if (!secured.has(streamIdOf({ accountId, streamName }))) continue
    const feed =
      sessions.feeds.get(accountId, streamName, sourceId) ?? sessions.feeds.remote(accountId, streamName, sourceId)
    if (feed?.secured) void endSession(ctx, entry, 'source_gone')
  }
}
