import { type LiveEntry, type Leaving, streamKey } from '../../media/sessions.ts'
import { StoreUnavailable, type StoredFeed, type Tx } from '../../store/store.ts'
import type { Context } from '../context.ts'
import { emitFeed } from '../webhooksEmit.ts'

/** An edge that takes longer to cut a session is not waited for. */
const CUT_MAX_MS = 5_000

/** Media that came no longer ago than this has not stopped: it is counted once a second. */
const PAUSE_MS = 2000

/**
 * Puts the end of a session on record: its last bytes and, for a publisher, the end of its feed with the event. For
 * edges, when a connection is over for whatever reason. Idempotent; never rejects: when the store is away the end is
 * written later, with the time of now or of the last media.
 */
export async function closeSession(ctx: Context, sessionId: string, reason: string): Promise<void> {
  const entry = ctx.live.get(sessionId)
  if (entry) {
    const feed = ctx.live.feedsOf(entry.session.accountId, entry.session.streamName).find(isOf(sessionId))
    const atMs = Math.max(endOf(entry, ctx.clock.now()), feed?.startedAtMs ?? entry.session.startedAtMs)
    ctx.live.leaving.set(sessionId, { entry, reason: entry.ending?.reason ?? reason, atMs })
    ctx.live.remove(sessionId)
  }
  const leaving = ctx.live.leaving.get(sessionId)
  if (leaving) await writeEnd(ctx, leaving)
}

const isOf =
  (sessionId: string) =>
  (feed: { readonly sessionId: string }): boolean =>
    feed.sessionId === sessionId

/** When a session ends that is over now: a publisher whose media stopped before that ended with it. */
export function endOf({ mediaAtMs }: Pick<LiveEntry, 'mediaAtMs'>, nowMs: number): number {
  return mediaAtMs !== null && nowMs - mediaAtMs > PAUSE_MS ? mediaAtMs : nowMs
}

/** Ends a session from our side: cuts it at its edge, then closes it. Everybody who asks waits for the same end. */
export function endSession(ctx: Context, entry: LiveEntry, reason: string): Promise<void> {
  // Deferred by a turn, so that `ending` is set before the edge can close the session by itself.
  entry.ending ??= { reason, done: Promise.resolve().then(() => cutAndClose(ctx, entry, reason)) }
  return entry.ending.done
}

async function cutAndClose(ctx: Context, entry: LiveEntry, reason: string): Promise<void> {
  const giveUp = new AbortController()
  const timeout = ctx.clock.sleep(CUT_MAX_MS, giveUp.signal).then(
    () => ctx.log.warn({ sessionId: entry.session.id, reason }, 'a session took too long to cut'),
    () => undefined,
  )
  try {
    await Promise.race([entry.cut(entry.session, reason), timeout])
  } catch (error) {
    ctx.log.error({ sessionId: entry.session.id, reason, err: error }, 'a session could not be cut')
  } finally {
    giveUp.abort()
  }
  await closeSession(ctx, entry.session.id, reason)
}

/** Writes ends that could not be written when they happened. */
export async function writeLateEnds(ctx: Context): Promise<void> {
  for (const leaving of ctx.live.leaving.values()) await writeEnd(ctx, leaving)
}

async function writeEnd(ctx: Context, leaving: Leaving): Promise<void> {
  const { entry, reason, atMs } = leaving
  const { id } = entry.session
  try {
    await ctx.store.transaction(async (tx) => {
      await tx.sessions.count([{ id, ...entry.bytes }], atMs)
      await tx.sessions.end(id, atMs, reason)
      const feed = await tx.feeds.endOfSession(id, atMs)
      if (feed) await tellEnd(tx, feed, atMs)
    })
  } catch (error) {
    const level = error instanceof StoreUnavailable ? 'warn' : 'error'
    ctx.log[level]({ sessionId: id, err: error }, 'the end of a session cannot be written now')
    return
  }
  if (ctx.live.leaving.delete(id)) ctx.live.counts.ended.add(reason)
}

/** The event of a feed that ends, in the transaction that ends it. */
export async function tellEnd(tx: Tx, feed: StoredFeed, atMs: number): Promise<void> {
  const { accountId } = feed
  const data = { ...feedData(feed), active: false, ended: atMs }
  await emitFeed(tx, { accountId, atMs }, { type: 'feeds', event: 'ended', data })
  await tx.changes.append({ kind: 'feed', accountId, id: 0, atMs })
}

/** What the events of a feed say of it. */
export const feedData = (feed: StoredFeed) => ({
  feedId: feed.feedId,
  accountId: feed.accountId,
  name: feed.streamName,
  streamId: streamKey(feed.accountId, feed.streamName),
  ...(feed.sourceId === null ? {} : { sourceId: feed.sourceId }),
  tokenId: feed.tokenId,
  started: feed.startedAtMs,
})
