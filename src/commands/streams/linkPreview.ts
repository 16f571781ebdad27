import { StoreUnavailable } from '../../store/store.ts'
import { type AccessAttempt, evaluate } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import { thumbnailOf } from './thumbnail.ts'

/** What the preview of a link to a stream may say to everyone who sees the link. */
export interface LinkPreview {
  /** The stream opens without a token. */
  readonly isOpen: boolean
  /** Its thumbnail is at this node now. */
  readonly hasThumbnail: boolean
}

const NOTHING: LinkPreview = { isOpen: false, hasThumbnail: false }

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
    const feed = ctx.sessions.feed(viewer.accountId, viewer.streamName, null)
    return { isOpen: true, hasThumbnail: feed !== undefined && thumbnailOf(ctx, feed).ok }
  } catch (error) {
    if (error instanceof StoreUnavailable) return NOTHING
    throw error
  }
}
