import { workApart } from '../../base/apart.ts'
import { type Clock, dateSince, inTime } from '../../base/clock.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import { STREAMS_AT_ONCE } from '../../media/feedsOnAir.ts'
import type { ClosingSession, ActiveSession } from '../../media/sessionRegistry.ts'
import { type EndedFeed, isUnavailable, type SessionEnd, type StoredFeed, type Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { emit } from '../emit.ts'
import { endTargets } from '../restream/recordTarget.ts'
import { streamEventOf } from '../webhooks/emit.ts'
import { sessionLine } from './sessionLine.ts'

/** The longest wait for an edge to cut a session. */
const CUT_MAX_MS = 5_000

/** A shorter gap does not count as stopped media, because bytes are counted once a second. */
const PAUSE_MS = 2000

/**
 * Writes the end of a session: its last bytes and, for a publisher, the end of its feed with the event. Edges call it
 * when a connection is over, for any reason. Idempotent; never rejects. If the store is unavailable, the end is written
 * later, with the time of now or of the last media. The admission of a session writes the end, if it is not over yet.
 */
export async function closeSession(ctx: SessionContext, sessionId: string, reason: SessionEndReason): Promise<void> {
  const entry = ctx.sessions.get(sessionId)
  if (entry) {
    const feed = ctx.sessions.feeds.ofStream(entry.session.accountId, entry.session.streamName).find(isOf(sessionId))
    const atMs = Math.max(endedAtMs(entry, ctx.clock), feed?.startedAtMs ?? entry.session.startedAtMs)
    if (entry.isEntering) entry.ending ??= { reason, cut: Promise.resolve(), done: Promise.resolve() }
    else ctx.sessions.leaving.set(sessionId, { entry, reason: entry.ending?.reason ?? reason, atMs })
    ctx.sessions.remove(sessionId)
    ctx.playerReports.ended(entry, atMs)
  }
  const leaving = ctx.sessions.leaving.get(sessionId)
  if (leaving) await record(ctx, leaving)
}

const isOf =
  (sessionId: string) =>
  (feed: { readonly sessionId: string }): boolean =>
    feed.sessionId === sessionId

/**
 * When a session ends that is over now. If its media had stopped before, the session ended with its media: a player over HLS
 * says no goodbye.
 */
export function endedAtMs(entry: ActiveSession, clock: Clock): number {
  const [nowMs, { mediaAtMs }] = [clock.monotonic(), entry]
  return sessionDate(entry, clock, mediaAtMs !== null && nowMs - mediaAtMs > PAUSE_MS ? mediaAtMs : nowMs)
}

/** The date of a moment of a session, by its start and the time since. Without `monotonicMs` that of now. */
export function sessionDate({ session, admittedAtMs }: ActiveSession, clock: Clock, monotonicMs?: number): number {
  return dateSince({ wallMs: session.startedAtMs, monotonicMs: admittedAtMs }, clock, monotonicMs)
}

/** Ends a session from our side: cuts it at its edge, then closes it. All callers wait for the same end. */
export function endSession(ctx: SessionContext, entry: ActiveSession, reason: SessionEndReason): Promise<void> {
  entry.ending ??= begin(ctx, entry, reason)
  return entry.ending.done
}

/** Deferred by a turn, so that `ending` is set before the edge can close the session by itself. */
function begin(ctx: SessionContext, entry: ActiveSession, reason: SessionEndReason): ActiveSession['ending'] & object {
  const cutting = Promise.resolve().then(() => cut(ctx, entry, reason))
  return { reason, cut: cutting, done: cutting.then(() => closeSession(ctx, entry.session.id, reason)) }
}

async function cut(ctx: SessionContext, entry: ActiveSession, reason: SessionEndReason): Promise<void> {
  const sinceMs = ctx.clock.monotonic()
  try {
    const done = await inTime(ctx.clock, CUT_MAX_MS, entry.cut(entry.session, reason))
    if (done === null) ctx.log.warn({ sessionId: entry.session.id, reason }, 'a session took too long to cut')
  } catch (error) {
    ctx.log.error({ sessionId: entry.session.id, reason, err: error }, 'a session could not be cut')
  } finally {
    ctx.sessions.counts.onCut?.(ctx.clock.monotonic() - sinceMs)
  }
}

/** Writes ends that could not be written when they happened. */
export async function writeLateEnds(ctx: SessionContext): Promise<void> {
  await Promise.all([...ctx.sessions.leaving.values()].map((leaving) => record(ctx, leaving)))
}

/**
 * Adds the end to the next batch. Viewers leave together, thousands of them when a popular stream ends, and one
 * transaction for each would block the store. A failure is logged, and retried with the late ends.
 */
function record(ctx: SessionContext, leaving: ClosingSession): Promise<void> {
  const batches = ctx.sessions.ends[isPublisher(leaving) ? 'publish' : 'view']
  return batches.add(leaving, (batch) => writeEnds(ctx, batch)).catch(() => undefined)
}

/** @throws StoreUnavailable */
async function writeEnds(ctx: SessionContext, batch: readonly ClosingSession[]): Promise<void> {
  try {
    await workApart(batch, (part) => writeSome(ctx, part), {
      isTransient: isUnavailable,
      refuse: ({ entry }, error) =>
        ctx.log.error({ sessionId: entry.session.id, err: error }, 'the end of a session could not be written'),
    })
  } catch (error) {
    ctx.log.warn({ ends: batch.length, err: error }, 'ends of sessions could not be written; trying again')
    throw error
  }
}

async function writeSome(ctx: SessionContext, part: readonly ClosingSession[]): Promise<void> {
  await ctx.store.transaction((tx) => end(tx, part))
  for (const closing of part) noteEnd(ctx, closing)
  const publishers = part.filter(isPublisher)
  if (publishers.length > 0) ctx.sessions.endsAreWritten(publishers.map(({ entry }) => entry.session))
}

/** Once for each session, when its end is on record. */
function noteEnd({ sessions, sampled }: SessionContext, closing: ClosingSession): void {
  if (!sessions.leaving.delete(closing.entry.session.id)) return
  sessions.counts.ended.add(closing.reason)
  sampled.sessions.info(sessionLine(sessions.node, closing), 'a session has ended')
}

/** Writes the sessions last, because they add to the hourly sums that all nodes share. */
async function end(tx: Tx, batch: readonly ClosingSession[]): Promise<void> {
  const feeds = await tx.feeds.endOfSessions(batch.filter(isPublisher).map(toEnd))
  await emitEnds(tx, ...feeds)
  await noteFeeds(tx, feeds)
  const holding = batch.filter(({ entry }) => entry.holders.size > 0)
  if (holding.length > 0) await tx.viewerSeats.free(holding.map(({ entry }) => entry.session.id))
  await tx.sessions.end(batch.map(toEnd))
}

/** Only these have feeds. */
const isPublisher = ({ entry }: ClosingSession): boolean => entry.session.action === 'publish'

const toEnd = ({ entry: { session, bytes }, atMs, reason }: ClosingSession): SessionEnd => ({
  id: session.id,
  ...bytes,
  atMs,
  reason,
})

/** Ends the targets of feeds that end, and emits the events of both, in the transaction that ends the feeds. */
export async function emitEnds(tx: Tx, ...feeds: readonly EndedFeed[]): Promise<void> {
  const targets = await endTargets(tx, feeds)
  const events = feeds.map((feed) => {
    const { accountId, endedAtMs: atMs } = feed
    const data = { ...feedData(feed), active: false, ended: atMs }
    return { accountId, atMs, ...streamEventOf({ type: 'feeds', event: 'ended', data }) }
  })
  await emit(tx, ...targets, ...events)
}

/** Lets all nodes read the feeds of these streams again, or all feeds if there are many. */
export async function noteFeeds(tx: Tx, ended: readonly EndedFeed[]): Promise<void> {
  const areMany = ended.length > STREAMS_AT_ONCE
  const latest = new Map(ended.map((feed) => [areMany ? feed.accountId : streamIdOf(feed), feed]))
  for (const { accountId, streamName, endedAtMs: atMs } of latest.values())
    await tx.changes.append({ kind: 'feed', accountId, id: 0, ...(areMany ? {} : { streamName }), atMs })
}

/** Lets all nodes look for sessions that they have to end. */
export const noteKick = (tx: Tx, accountId: string, atMs: number): Promise<void> =>
  tx.changes.append({ kind: 'kick', accountId, id: 0, atMs })

/** The data of a feed in its events. */
export const feedData = (feed: Omit<StoredFeed, 'node' | 'recordSwitch'>) => ({
  feedId: feed.feedId,
  accountId: feed.accountId,
  name: feed.streamName,
  streamId: streamIdOf(feed),
  ...(feed.sourceId === null ? {} : { sourceId: feed.sourceId }),
  ...(feed.layer === null ? {} : { simulcastId: feed.sourceId ?? '' }),
  ...(feed.priority === null ? {} : { priority: feed.priority }),
  tokenId: feed.tokenId,
  started: feed.startedAtMs,
})
