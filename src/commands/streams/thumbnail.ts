import { err, ok, type Result } from '../../base/result.ts'
import { REFUSALS } from '../../core/access/refusals.ts'
import { type Failure, notFound } from '../../core/errors.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { LatestThumbnail } from '../../services/latestThumbnails.ts'
import { type AccessAttempt, preview } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import { AT_ANOTHER_NODE } from '../sessions/feedFor.ts'
import { remoteFeed } from '../sessions/revoke.ts'
import { NOT_ON_AIR } from './streamsOnAir.ts'

/** A thumbnail, with a tag that changes with it. */
export interface TaggedThumbnail extends LatestThumbnail {
  readonly etag: string
}

/** The latest thumbnail of a stream that is on the air at this node. */
export async function readThumbnail(
  ctx: SessionContext,
  accountId: string,
  streamName: string,
): Promise<Result<TaggedThumbnail, Failure>> {
  const feed = ctx.sessions.feeds.get(accountId, streamName, null)
  if (!feed) return err(notFound('streamName', await whyNotHere(ctx, accountId, streamName)))
  const latest = thumbnailOf(ctx, feed)
  return latest.ok ? latest : err(notFound('streamName', latest.error))
}

/** The latest thumbnail of a feed of this node, or why there is none. */
export function thumbnailOf(
  { latestThumbnails }: Pick<SessionContext, 'latestThumbnails'>,
  { feedId, thumbnails }: ActiveFeed,
): Result<TaggedThumbnail, string> {
  const latest = latestThumbnails.of(feedId)
  if (latest) return ok({ ...latest, etag: `"${feedId}-${latest.atMs}"` })
  return err(thumbnails ? NOT_YET : NOT_ENABLED)
}

/** What a viewer may see: a thumbnail of this node, or that of the node at `nodeUrl`. */
export type ThumbnailForViewer = { readonly needsToken: boolean } & (
  | { readonly thumbnail: TaggedThumbnail }
  | { readonly nodeUrl: string }
)

/** 409: the stream is not on the air, or at a node without a public URL. */
export interface ThumbnailRefusal {
  readonly status: 401 | 404 | 409
  readonly text: string
}

/**
 * The thumbnail of a stream for its viewers, by the decision that a viewer gets. It is no session: it binds no address,
 * takes no slot, counts nothing, and writes nothing but refusals.
 * @throws StoreUnavailable if it cannot decide
 */
export async function thumbnailForViewer(
  ctx: SessionContext,
  attempt: AccessAttempt,
  sourceId: string | null,
): Promise<Result<ThumbnailForViewer, ThumbnailRefusal>> {
  const { request, decision } = await preview(ctx, attempt)
  if (!decision.allowed) {
    ctx.sessions.counts.refused.add(decision.code)
    return err({ status: 401, text: decision.message })
  }
  const stream = { accountId: decision.accountId, streamName: request.streamName }
  const needsToken = request.credential.kind !== 'none'
  const feed = ctx.sessions.feeds.get(stream.accountId, stream.streamName, sourceId)
  if (feed) {
    const latest = thumbnailOf(ctx, feed)
    return latest.ok ? ok({ needsToken, thumbnail: latest.value }) : err({ status: 404, text: latest.error })
  }
  const there = await remoteFeed(ctx, stream, sourceId)
  if (there?.url) return ok({ needsToken, nodeUrl: there.url })
  return err({ status: 409, text: there ? AT_ANOTHER_NODE : REFUSALS.stream_not_published.text })
}

const NOT_YET = 'No thumbnail was taken yet: the first one comes with a keyframe of the video'
const NOT_ENABLED = 'The publish token of this stream does not enable thumbnails: set enableThumbnails'

/** Why this node has no feed of a stream. */
export async function whyNotHere(ctx: SessionContext, accountId: string, streamName: string): Promise<string> {
  const there = await remoteFeed(ctx, { accountId, streamName }, null)
  if (!there) return NOT_ON_AIR
  return `The stream is at another node, which has its thumbnail${there.url === null ? '' : `: ${there.url}`}`
}
