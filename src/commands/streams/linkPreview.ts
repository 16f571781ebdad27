import { StoreUnavailable } from '../../store/store.ts'
import { type AccessAttempt, evaluate } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import { remoteFeed } from '../sessions/revoke.ts'
import { thumbnailOf } from './thumbnail.ts'

/** What the preview of a link to a stream may say to everyone who sees the link. */
export interface LinkPreview {
  /** The stream opens without a token. */
  readonly isOpen: boolean
  /** Its thumbnail, or the node that may have it; null: there is none now. */
  readonly thumbnail: { readonly image: Uint8Array } | { readonly nodeUrl: string } | null
}

const NOTHING: LinkPreview = { isOpen: false, thumbnail: null }

/**
 * The decision for a stranger without a token, whatever the link has: services keep previews and show them to others. It
 * records nothing. If it cannot be decided, the preview says nothing.
 */
export async function linkPreviewOf(
  ctx: SessionContext,
  viewer: Omit<AccessAttempt, 'origin' | 'presented'> & { readonly accountId: string },
): Promise<LinkPreview> {
  try {
    const { decision } = await evaluate(ctx, { ...viewer, presented: null, origin: null }, ctx.clock.now())
    if (!decision.allowed) return NOTHING
    return { isOpen: true, thumbnail: await findThumbnail(ctx, viewer) }
  } catch (error) {
    if (error instanceof StoreUnavailable) return NOTHING
    throw error
  }
}

async function findThumbnail(
  ctx: SessionContext,
  stream: { readonly accountId: string; readonly streamName: string },
): Promise<LinkPreview['thumbnail']> {
  const feed = ctx.sessions.feeds.get(stream.accountId, stream.streamName, null)
  if (feed !== undefined) {
    const latest = thumbnailOf(ctx, feed)
    return latest.ok ? latest.value : null
  }
  const there = await remoteFeed(ctx, stream, null)
  return there?.url ? { nodeUrl: there.url } : null
}
