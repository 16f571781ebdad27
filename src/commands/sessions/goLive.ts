import { uuid } from '../../base/ids.ts'
import type { FrameSource } from '../../media/frame.ts'
import type { ActiveSession, ActiveFeed } from '../../media/sessionRegistry.ts'
import type { StoredFeed, Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'
import { tokenOf } from './admit.ts'
import { sessionDate, endedAtMs, endSession, feedData, emitEnds } from './close.ts'

/**
 * Puts the feed of a publisher on the air, when its media begins. It replaces a feed of the same source: the old feed
 * ends before the new one starts, also in the events and their times, and its session is cut. A token without
 * `multisource` replaces every feed of the stream. Undefined if the session is over; then drop its media.
 * @throws StoreUnavailable if the feed cannot be recorded: it is not on the air then
 */
export async function goLive(
  ctx: SessionContext,
  sessionId: string,
  media: FrameSource,
): Promise<ActiveFeed | undefined> {
  const entry = ctx.sessions.get(sessionId)
  if (!entry || entry.ending) return undefined
  const { accountId, streamName } = entry.session
  const current = ctx.sessions.feedsOf(accountId, streamName).find((feed) => feed.sessionId === sessionId)
  if (current) return current
  const begun = await ctx.store.transaction((tx) => replace(ctx, tx, entry))
  if (!begun) return undefined
  for (const { sessionId: replaced } of begun.replaced) dropReplaced(ctx, replaced)
  // Cut or replaced between the commit and this line. Then its end in the store is written already, or will be.
  if (isOver(ctx, sessionId)) return undefined
  const token = tokenOf(entry.request.credential)
  const { node: _node, ...facts } = begun.feed
  const feed: ActiveFeed = {
    ...facts,
    record: entry.record ?? token?.record === true,
    restream: !entry.noRestream,
    thumbnails: token?.enableThumbnails === true,
    renditions: token?.hlsRenditions ?? [],
    hlsCodecs: token?.hlsCodecs ?? 'h264',
    media,
  }
  ctx.sessions.addFeed(feed)
  return feed
}

interface Begun {
  readonly feed: StoredFeed
  readonly replaced: readonly StoredFeed[]
}

/** A clock of another node may be this much ahead, so that its ends are later than now. */
const AHEAD_MS = 5_000

async function replace(ctx: SessionContext, tx: Tx, entry: ActiveSession): Promise<Begun | undefined> {
  const { session, request } = entry
  const token = tokenOf(request.credential)
  if (session.tokenId === null || token === null) throw new Error('only a publisher with a token can go live')
  // A node that stalled and was given up meanwhile must not put a feed on the air, or replace one.
  if (!(await tx.nodes.lockShared(ctx.sessions.node))) return undefined
  const open = await tx.feeds.lockOpen(session)
  // A concurrent call for the same session puts it on the air.
  if (open.some((feed) => feed.sessionId === session.id)) return undefined
  const feedId = uuid(ctx.random)
  if (!(await tx.sessions.attach(session.id, feedId))) return undefined
  const replaced = open.filter((feed) => !token.multisource || feed.sourceId === session.sourceId)
  for (const old of replaced) await drop(tx, old, endOfReplaced(ctx, old))
  const nowMs = sessionDate(entry, ctx.clock)
  const lastEnd = await tx.feeds.settle(session, nowMs + AHEAD_MS, nowMs)
  const feed: StoredFeed = {
    feedId,
    sessionId: session.id,
    accountId: session.accountId,
    streamName: session.streamName,
    sourceId: session.sourceId,
    tokenId: session.tokenId,
    secured: token.subscribeRequiresAuth,
    startedAtMs: Math.max(nowMs, session.startedAtMs, (lastEnd ?? 0) + 1),
    node: ctx.sessions.node,
  }
  await tx.feeds.insert(feed)
  await emitStart(tx, feed)
  return { feed, replaced }
}

/** A replaced feed ended when its media stopped. Only the node that had it knows this time. */
function endOfReplaced(ctx: SessionContext, { sessionId, startedAtMs }: StoredFeed): number {
  const entry = ctx.sessions.get(sessionId)
  return Math.max(entry === undefined ? ctx.clock.now() : endedAtMs(entry, ctx.clock), startedAtMs)
}

/** Ends a replaced feed. The node with its session ends that session, with its last bytes. */
async function drop(tx: Tx, old: StoredFeed, atMs: number): Promise<void> {
  await tx.feeds.end(old.feedId, atMs)
  await emitEnds(tx, { ...old, endedAtMs: atMs })
  await tx.sessions.kick({ accountId: old.accountId, id: old.sessionId }, 'replaced')
  await tx.changes.append({ kind: 'kick', accountId: old.accountId, id: 0, atMs })
}

async function emitStart(tx: Tx, feed: StoredFeed): Promise<void> {
  const on = { accountId: feed.accountId, atMs: feed.startedAtMs }
  await emitStreamEvent(tx, on, { type: 'feeds', event: 'started', data: { ...feedData(feed), active: true } })
  await tx.changes.append({ kind: 'feed', accountId: feed.accountId, id: 0, atMs: feed.startedAtMs })
}

const isOver = ({ sessions }: SessionContext, sessionId: string): boolean => sessions.get(sessionId)?.ending !== null

function dropReplaced(ctx: SessionContext, sessionId: string): void {
  const entry = ctx.sessions.get(sessionId)
  if (!entry) return
  const { accountId, streamName } = entry.session
  const feed = ctx.sessions.feedsOf(accountId, streamName).find((one) => one.sessionId === sessionId)
  if (feed) ctx.sessions.removeFeed(feed)
  void endSession(ctx, entry, 'replaced')
}
