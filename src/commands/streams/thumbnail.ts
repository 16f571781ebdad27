import { err, ok, type Result } from '../../base/result.ts'
import { type Failure, notFound } from '../../core/errors.ts'
import type { LatestThumbnail } from '../../services/latestThumbnails.ts'
import type { SessionContext } from '../context.ts'
import { remoteFeed } from '../sessions/revoke.ts'

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
  const { sessions, latestThumbnails } = ctx
  const feed = sessions.feed(accountId, streamName, null)
  if (!feed) return err(notFound('streamName', await whyNotHere(ctx, accountId, streamName)))
  const latest = latestThumbnails.of(feed.feedId)
  if (latest) return ok({ ...latest, etag: `"${feed.feedId}-${latest.atMs}"` })
  return err(notFound('streamName', feed.thumbnails ? NOT_YET : NOT_ENABLED))
}

const NOT_YET = 'No thumbnail was taken yet: the first one comes with a keyframe of the video'
const NOT_ENABLED = 'The publish token of this stream does not enable thumbnails: set enableThumbnails'

async function whyNotHere(ctx: SessionContext, accountId: string, streamName: string): Promise<string> {
  const there = await remoteFeed(ctx, { accountId, streamName }, null)
  if (!there) return 'No stream of this name is on the air'
  return `The stream is at another node, which has its thumbnail${there.url === null ? '' : `: ${there.url}`}`
}
