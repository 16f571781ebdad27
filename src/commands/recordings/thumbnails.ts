import { err, ok, type Result } from '../../base/result.ts'
import type { Throttle } from '../../base/throttle.ts'
import { failure, type Failure, invalid, notFound } from '../../core/errors.ts'
import { readThumbnailRequest, type ThumbnailRequest } from '../../core/recordings/thumbnailRequest.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { SessionContext } from '../context.ts'
import { whyNotHere } from '../streams/thumbnail.ts'
import { emitThumbnail } from '../webhooks/emit.ts'

/** Keeps a thumbnail of a feed for those who ask, and emits it. A feed that is over emits none. */
export async function captureThumbnail(ctx: SessionContext, feed: ActiveFeed, image: Uint8Array): Promise<void> {
  const { accountId, streamName, feedId, tokenId } = feed
  if (!ctx.sessions.feeds.ofStream(accountId, streamName).some((active) => active.feedId === feedId)) return
  const atMs = ctx.clock.now()
  ctx.latestThumbnails.put(feed, image, atMs)
  const streamId = streamIdOf({ accountId, streamName })
  const thumbnail = { kind: 'thumbnail', feedId, streamId, tokenId, image, subject: streamName } as const
  await ctx.store.transaction((tx) => emitThumbnail(tx, { accountId, atMs }, thumbnail))
}

/** Why no thumbnail is taken. `waitMs`: when another request may pass; 0: waiting does not help. */
type RequestRefusal = Failure & { readonly waitMs: number }

/**
 * Has thumbnails of a stream or of the streams of a token taken now, whatever the token says of thumbnails. They are emitted
 * when there is a keyframe. Only feeds of this node: no other node has their media.
 */
export async function requestThumbnails(
  ctx: SessionContext,
  throttle: Throttle,
  accountId: string,
  body: unknown,
): Promise<Result<true, RequestRefusal>> {
  const read = readThumbnailRequest(body)
  if (!read.ok) return refuse(invalid(read.error))
  const { streamName, tokenId } = read.value
  const feeds = ctx.sessions.feeds
    .all()
    .filter(
      (feed) =>
        feed.accountId === accountId &&
        (streamName === null || feed.streamName === streamName) &&
        (tokenId === null || feed.tokenId === tokenId),
    )
  if (feeds.length === 0) return refuse(await whyNone(ctx, accountId, read.value))
  const key = streamName === null ? `${accountId} ${tokenId}` : streamIdOf({ accountId, streamName })
  const waitMs = throttle.take(key, ctx.clock.monotonic())
  if (waitMs > 0) return refuse(failure('rate_limited', TOO_MANY), waitMs)
  for (const feed of feeds) ctx.latestThumbnails.request(feed)
  return ok(true)
}

/** Thumbnails on demand in a minute, of one stream or one token. */
export const THUMBNAILS_PER_MINUTE = 6
const TOO_MANY = `Too many thumbnails: ${THUMBNAILS_PER_MINUTE} a minute for each stream or token`

async function whyNone(ctx: SessionContext, accountId: string, request: ThumbnailRequest): Promise<Failure> {
  const { streamName, tokenId } = request
  if (streamName !== null && tokenId === null)
    return notFound('streamName', await whyNotHere(ctx, accountId, streamName))
  return notFound('tokenId', 'This token publishes no such stream at this node now')
}

const refuse = (refusal: Failure, waitMs = 0): Result<never, RequestRefusal> => err({ ...refusal, waitMs })
