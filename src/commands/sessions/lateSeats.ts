import { streamLimit, tokenLimits, type ViewerLimit } from '../../core/access/viewerLimits.ts'
import type { TokenSnapshot } from '../../core/access/types.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { SessionContext } from '../context.ts'

/** Sessions that one transaction counts. Who takes a seat of the same limit waits for it. */
const AT_ONCE = 100

/**
 * Viewers at this node who came before their token or stream had a limit take seats of it, also beyond it: no limit ends a
 * session.
 * @param streams those that the token has on the air, by `streamIdOf`
 * @param isRepeated the store failed meanwhile, so that those who seem to have a seat may have none
 * @throws StoreUnavailable
 */
export async function takeLateSeats(
  ctx: SessionContext,
  token: TokenSnapshot,
  streams: ReadonlySet<string>,
  isRepeated: boolean,
): Promise<void> {
  if (token.maxViewers === 0) return
  const viewers = token.kind === 'subscribe' ? ctx.sessions.ofToken(token.id) : ctx.sessions.all()
  const late = viewers.flatMap((entry) => {
    const limit = entry.session.action === 'view' ? limitOf(token, entry, streams) : null
    return limit === null || (entry.holders.has(limit.holder) && !isRepeated) ? [] : [{ entry, limit }]
  })
  // In one order, because all nodes do this when they hear of a change: a transaction keeps the row of each limit locked.
  late.sort((a, b) => (a.limit.holder < b.limit.holder ? -1 : 1))
  for (let at = 0; at < late.length; at += AT_ONCE) await take(ctx, late.slice(at, at + AT_ONCE))
}

interface Late {
  readonly entry: ActiveSession
  readonly limit: ViewerLimit
}

function limitOf(
  token: TokenSnapshot,
  { session: { accountId, streamName } }: ActiveSession,
  streams: ReadonlySet<string>,
): ViewerLimit | null {
  if (token.kind === 'subscribe') return tokenLimits({ kind: 'token', token })[0] ?? null
  return streams.has(streamIdOf({ accountId, streamName }))
    ? streamLimit(accountId, streamName, [token.maxViewers])
    : null
}

async function take(ctx: SessionContext, late: readonly Late[]): Promise<void> {
  const { node } = ctx.sessions
  // First, so that a session that ends meanwhile gives its seat back.
  for (const { entry, limit } of late) entry.holders.add(limit.holder)
  await ctx.store.transaction(async (tx) => {
    if (!(await tx.nodes.lockShared(node))) return
    for (const { entry, limit } of late) {
      const seat = { viewer: entry.viewer, sessionId: entry.session.id, node }
      await tx.viewerSeats.take(seat, [{ ...limit, most: Number.POSITIVE_INFINITY }])
    }
  })
  const ended = late.map(({ entry }) => entry.session.id).filter((id) => !ctx.sessions.has(id))
  if (ended.length > 0) await ctx.store.transaction((tx) => tx.viewerSeats.free(ended))
}
