import { streamLimit, tokenLimits, type ViewerLimit, viewersStep } from '../../core/access/viewerLimits.ts'
import type { ReachedLimit } from '../../core/access/refusals.ts'
import type { Evaluation, TraceStep } from '../../core/access/types.ts'
import type { AccessContext } from '../context.ts'

/** The limits of concurrent viewers that hold for an admission; none for publishers and previews. @throws StoreUnavailable */
export async function viewerLimits(
  ctx: AccessContext,
  { request, decision }: Evaluation,
): Promise<readonly ViewerLimit[]> {
  if (!decision.allowed || request.action !== 'view') return NONE
  const { accountId } = decision
  const tokenIds = await tokensOnAir(ctx, accountId, request.streamName)
  const tokens = await Promise.all(tokenIds.map((id) => ctx.cache.tokenById(id)))
  const limits = tokens.map((token) => token?.snapshot.maxViewers ?? 0)
  const ofStream = streamLimit(accountId, request.streamName, limits)
  const ofToken = tokenLimits(request.credential)
  return ofStream === null ? ofToken : [...ofToken, ofStream]
}

const NONE: readonly ViewerLimit[] = []

async function tokensOnAir(ctx: AccessContext, accountId: string, streamName: string): Promise<readonly number[]> {
  const inMemory = ctx.sessions.feeds.tokensOnAir(accountId, streamName)
  if (inMemory.length > 0 || ctx.sessions.feeds.knowsAll) return inMemory
  return ctx.store.read.feeds.tokenIds(accountId, streamName)
}

/** False: `viewerLimits` would find none. From memory alone. */
export function hasViewerLimits(ctx: AccessContext, { request, decision }: Evaluation): boolean {
  if (!decision.allowed || request.action !== 'view') return false
  const { sessions, cache } = ctx
  const tokenIds = sessions.feeds.tokensOnAir(decision.accountId, request.streamName)
  if (tokenLimits(request.credential).length > 0 || (tokenIds.length === 0 && !sessions.feeds.knowsAll)) return true
  return tokenIds.some((id) => {
    const token = cache.peekTokenById(id)
    return token === 'unknown' || token.snapshot.maxViewers > 0
  })
}

/**
 * The limit that a viewer would reach now; null: it would get a seat, or has one. The transaction of the admission decides.
 * This spares those who are refused the transaction, and binds no address for them.
 * @param viewer null: a new one
 * @throws StoreUnavailable
 */
export async function reachedLimit(
  { store }: AccessContext,
  limits: readonly ViewerLimit[],
  viewer: string | null,
): Promise<ReachedLimit | null> {
  const { viewerSeats } = store.read
  for (const limit of limits) {
    if ((await viewerSeats.count(limit.holder)) < limit.most) continue
    if (viewer === null || !(await viewerSeats.has(limit.holder, viewer))) return reachedBy(limit)
  }
  return null
}

/** The refusal of a viewer by a limit. */
export const reachedBy = (limit: ViewerLimit): ReachedLimit => ({
  code: 'viewer_limit',
  step: viewersStep([{ limit, viewers: limit.most }]),
})

/** What a trace says of the limits that hold for an admission, as they are now; null: there are none. @throws StoreUnavailable */
export async function countViewers(ctx: AccessContext, evaluation: Evaluation): Promise<TraceStep | null> {
  const limits = await viewerLimits(ctx, evaluation)
  if (limits.length === 0) return null
  const { viewerSeats } = ctx.store.read
  const counts = limits.map(async (limit) => ({ limit, viewers: await viewerSeats.count(limit.holder) }))
  return viewersStep(await Promise.all(counts))
}
