import { uuid } from '../../base/ids.ts'
import { type TokenSnapshot, tokenOf } from '../../core/access/types.ts'
import { compareStandings, type Standing } from '../../core/sessions/rank.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { FrameSource } from '../../media/frame.ts'
import type { ActiveSession, PublisherStanding } from '../../media/sessionRegistry.ts'
import type { StoredFeed, Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { endForbidden } from '../regions/endForbidden.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'
import { sessionDate, endedAtMs, endSession, feedData, emitEnds, noteKick } from './close.ts'
import { dropAnonymous } from './dropAnonymous.ts'
import { isSameSource } from '../../core/streams/streamId.ts'
import { holdEnd } from './heldEnd.ts'

/**
 * Puts the feed of a publisher on the air, when its media begins, or when it is the best of the spares. It takes the place of a
 * feed of the same source: the old feed ends before the new one starts, also in the events and their times. A publisher of the
 * same priority is replaced, so its session is cut; one of a lower priority becomes a spare. While one of a higher priority
 * is on the air, this one is a spare itself (`SessionRegistry.spares`) and the answer is undefined. A token without
 * `multisource` has one source for the stream. Undefined too if the session is over; then drop its media.
 * @throws StoreUnavailable if the feed cannot be recorded: it is not on the air then
 */
export async function goLive(
  ctx: SessionContext,
  sessionId: string,
  media: FrameSource,
): Promise<ActiveFeed | undefined> {
  const entry = ctx.sessions.get(sessionId)
  if (!entry || entry.ending || entry.standing === null) return undefined
  const current = feedOfSession(ctx, entry)
  if (current) return current
  const { standing } = entry
  standing.media = media
  const takesOver = ctx.sessions.spares.has(entry)
  const { stale } = ctx.sessions.feeds
  const { reads } = stale
  const begun = await ctx.store.transaction((tx) => begin(ctx, tx, publisherOf(entry, standing, takesOver)))
  if (begun === undefined) return undefined
  for (const replaced of begun.replaced) dropReplaced(ctx, replaced)
  if (begun.feed === null) {
    if (ctx.sessions.has(sessionId)) ctx.sessions.spares.add(entry)
    return undefined
  }
  const concurrent = feedOfSession(ctx, entry)
  if (concurrent) return concurrent
  const feed = activeFeed(entry, begun.feed, holdEnd(ctx, entry, media))
  // Cut or replaced between the commit and this line. Then its end in the store is written already, or will be.
  const isHere = !isOver(ctx, sessionId)
  if (isHere) {
    putOnAir(ctx, entry, feed)
    // Another node may have outranked it since the commit. A read of that change did not find it here.
    if (stale.reads !== reads) stale.add(feed)
  }
  for (const outranked of begun.outranked) makeSpare(ctx, outranked)
  return isHere ? feed : undefined
}

function activeFeed(
  entry: ActiveSession,
  { node: _node, priority: _priority, recordSwitch, ...facts }: StoredFeed,
  media: FrameSource,
): ActiveFeed {
  const token = tokenOf(entry.request.credential)
  return {
    ...facts,
    record: recordSwitch ?? entry.record ?? token?.record === true,
    restream: !entry.noRestream,
    thumbnails: token?.enableThumbnails === true,
    renditions: token?.hlsRenditions ?? [],
    hlsCodecs: token?.hlsCodecs ?? 'h264',
    media,
  }
}

function putOnAir(ctx: SessionContext, entry: ActiveSession, feed: ActiveFeed): void {
  // Outranked by another node, which this one has not heard yet.
  const before = ctx.sessions.feeds.ofStream(feed.accountId, feed.streamName).find((one) => isSameSource(one, feed))
  if (before) makeSpare(ctx, before.sessionId)
  ctx.sessions.spares.delete(entry)
  ctx.sessions.feeds.add(feed)
  endForbidden(ctx)
  if (entry.standing) entry.standing.hide = entry.standing.show(feed)
  if (!feed.secured) return
  dropAnonymous(ctx, [feed])
  // Other nodes may not have read yet that its viewers need tokens; then they ask again.
  ctx.lentRooms.endIf(({ stream, isSecured }) => !isSecured && streamIdOf(stream) === streamIdOf(feed))
}

interface Begun {
  /** Null: the publisher is a spare. */
  readonly feed: StoredFeed | null
  /** Sessions of any node that are cut: of the same priority, on the air or spares. */
  readonly replaced: readonly string[]
  /** Sessions that become spares. */
  readonly outranked: readonly string[]
}

/** A clock of another node may be this much ahead, so that its ends are later than now. */
const AHEAD_MS = 5_000

/** A publisher whose media has begun. */
interface Publisher {
  readonly entry: ActiveSession
  readonly standing: PublisherStanding
  readonly token: TokenSnapshot
  /** It was a spare until now. */
  readonly takesOver: boolean
}

function publisherOf(entry: ActiveSession, standing: PublisherStanding, takesOver: boolean): Publisher {
  const token = tokenOf(entry.request.credential)
  if (token === null) throw new Error('only a publisher with a token can go live')
  return { entry, standing, token, takesOver }
}

async function begin(ctx: SessionContext, tx: Tx, publisher: Publisher): Promise<Begun | undefined> {
  const { session } = publisher.entry
  // A node that stalled and was given up meanwhile must not put a feed on the air, or replace one.
  if (!(await tx.nodes.lockShared(ctx.sessions.node))) return undefined
  const open = await tx.feeds.lockOpen(session)
  // A concurrent call has put it on the air, or one whose answer was lost.
  const own = open.find((feed) => feed.sessionId === session.id)
  if (own) return { feed: own, replaced: [], outranked: [] }
  // Before any of them is written: their nodes write the bytes of many sessions at once.
  await tx.sessions.lockPublishers(session)
  const rivals = open.filter((feed) => !publisher.token.multisource || feed.sourceId === session.sourceId)
  if (rivals.some((feed) => isBeaten(ctx, publisher, feed))) {
    await tx.sessions.makeSpare(session.id)
    return { feed: null, replaced: await replaceSpares(ctx, tx, publisher), outranked: [] }
  }
  const feedId = uuid(ctx.random)
  if (!(await tx.sessions.attach(session.id, feedId))) return undefined
  const spares = await replaceSpares(ctx, tx, publisher)
  const { replaced, outranked } = await endRivals(ctx, tx, rivals, publisher.standing)
  const feed = await startFeed(ctx, tx, publisher, feedId, rivals[0])
  return { feed, replaced: [...spares, ...replaced], outranked }
}

/** Whether a feed on the air stays there. One of the priority of a spare came after it, and ends it. */
function isBeaten(ctx: SessionContext, { standing, takesOver }: Publisher, feed: StoredFeed): boolean {
  return compareStandings(standing, standingOf(ctx, feed)) < (takesOver ? 1 : 0)
}

/** Ends the feeds that a publisher replaces or outranks. Returns their sessions. */
async function endRivals(
  ctx: SessionContext,
  tx: Tx,
  rivals: readonly StoredFeed[],
  { priority }: PublisherStanding,
): Promise<Pick<Begun, 'replaced' | 'outranked'>> {
  // Also one that is worse only because its media is late.
  const replaced = rivals.filter((feed) => feed.priority === priority)
  const outranked = rivals.filter((feed) => feed.priority !== priority)
  for (const old of rivals) await endFeed(tx, old, endOfReplaced(ctx, old))
  for (const old of replaced) await kick(tx, old, ctx.clock.now())
  for (const old of outranked) await tx.sessions.makeSpare(old.sessionId)
  return { replaced: replaced.map((old) => old.sessionId), outranked: outranked.map((old) => old.sessionId) }
}

/** @param rival a feed that this one has ended */
async function startFeed(
  ctx: SessionContext,
  tx: Tx,
  { entry, standing, token, takesOver }: Publisher,
  feedId: string,
  rival: StoredFeed | undefined,
): Promise<StoredFeed> {
  const { session } = entry
  const nowMs = sessionDate(entry, ctx.clock)
  const lastEnd = await tx.feeds.settle(session, nowMs + AHEAD_MS, nowMs)
  const previous = rival ?? (takesOver ? await tx.feeds.latest(session) : undefined)
  const feed: StoredFeed = {
    feedId,
    sessionId: session.id,
    accountId: session.accountId,
    streamName: session.streamName,
    sourceId: session.sourceId,
    layer: session.layer,
    tokenId: token.id,
    secured: token.subscribeRequiresAuth,
    regions: token.mediaRegions && [...token.mediaRegions, ctx.policy.region],
    priority: standing.priority,
    // For users it is the same broadcast.
    recordSwitch: previous?.recordSwitch ?? null,
    startedAtMs: Math.max(nowMs, session.startedAtMs, (lastEnd ?? 0) + 1),
    node: ctx.sessions.node,
  }
  await tx.feeds.insert(feed)
  await emitStart(tx, feed, previous?.feedId ?? null)
  return feed
}

/** A source has one publisher of each priority: a newcomer replaces the spare, at whichever node that is. */
async function replaceSpares(
  ctx: SessionContext,
  tx: Tx,
  { entry: { session }, standing, takesOver }: Publisher,
): Promise<string[]> {
  if (takesOver) return []
  const replaced = await tx.sessions.replaceSpares(session, standing.priority)
  if (replaced.length > 0) await noteKick(tx, session.accountId, ctx.clock.now())
  return replaced
}

/** Whether the media of a feed is late is known at its node only. */
const standingOf = ({ sessions }: SessionContext, { sessionId, priority }: StoredFeed): Standing =>
  sessions.get(sessionId)?.standing ?? { priority }

/** A replaced feed ended when its media stopped. Only the node that had it knows this time. */
function endOfReplaced(ctx: SessionContext, { sessionId, startedAtMs }: StoredFeed): number {
  const entry = ctx.sessions.get(sessionId)
  return Math.max(entry === undefined ? ctx.clock.now() : endedAtMs(entry, ctx.clock), startedAtMs)
}

async function endFeed(tx: Tx, old: StoredFeed, atMs: number): Promise<void> {
  await tx.feeds.end(old.feedId, atMs)
  await emitEnds(tx, { ...old, endedAtMs: atMs })
}

/** The node with a replaced session ends it, with its last bytes. */
async function kick(tx: Tx, { accountId, sessionId: id }: StoredFeed, atMs: number): Promise<void> {
  await tx.sessions.kick({ accountId, id }, 'replaced')
  await noteKick(tx, accountId, atMs)
}

/** @param previousFeedId the feed that this one takes over from */
async function emitStart(tx: Tx, feed: StoredFeed, previousFeedId: string | null): Promise<void> {
  const on = { accountId: feed.accountId, atMs: feed.startedAtMs }
  const data = { ...feedData(feed), active: true, ...(previousFeedId === null ? {} : { previousFeedId }) }
  await emitStreamEvent(tx, on, { type: 'feeds', event: 'started', data })
  const { accountId, streamName, startedAtMs: atMs } = feed
  await tx.changes.append({ kind: 'feed', accountId, id: 0, streamName, atMs })
}

const isOver = ({ sessions }: SessionContext, sessionId: string): boolean => sessions.get(sessionId)?.ending !== null

/** The feed on the air of a publisher of this node. */
export function feedOfSession({ sessions }: SessionContext, { session }: ActiveSession): ActiveFeed | undefined {
  return sessions.feeds.ofStream(session.accountId, session.streamName).find((feed) => feed.sessionId === session.id)
}

/** Takes the feed of a publisher of this node off the air; the publisher stays connected. */
export function makeSpare(ctx: SessionContext, sessionId: string): void {
  const entry = ctx.sessions.get(sessionId)
  if (!entry?.standing) return
  const feed = feedOfSession(ctx, entry)
  if (feed) ctx.sessions.feeds.remove(feed)
  entry.standing.hide?.()
  entry.standing.hide = null
  if (entry.standing.media !== null) ctx.sessions.spares.add(entry)
}

function dropReplaced(ctx: SessionContext, sessionId: string): void {
  const entry = ctx.sessions.get(sessionId)
  if (!entry) return
  const feed = feedOfSession(ctx, entry)
  if (feed) ctx.sessions.feeds.remove(feed)
  void endSession(ctx, entry, 'replaced')
}
