import { compareStandings, nextStall, type Standing } from '../../core/sessions/rank.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { SessionContext } from '../context.ts'
import { feedOfSession, goLive, makeSpare } from './goLive.ts'
import { isSameSource } from '../../core/streams/streamId.ts'

export { LOOK_MS } from '../../media/sessionRegistry.ts'

/**
 * Lets each source have its best publisher on the air, as far as this node can: it takes feeds off the air that a publisher at
 * another node has outranked, and puts the best spare of a source on the air that has nothing better. Call it when feeds
 * have begun or ended anywhere, and when a publisher stalls or has recovered; one call at a time.
 *
 * @param over feeds of this node that are over on record
 */
export async function settleSpares(ctx: SessionContext, over: readonly ActiveFeed[] = []): Promise<void> {
  for (const feed of over) dropOutranked(ctx, feed)
  for (const spare of bestSpares(ctx)) await take(ctx, spare)
}

async function take(ctx: SessionContext, { session, standing }: ActiveSession): Promise<void> {
  const media = standing?.media ?? null
  if (standing === null || media === null) return
  const feed = await goLive(ctx, session.id, media)
  if (feed === undefined) return
  const { id: sessionId, accountId, streamName, sourceId } = session
  ctx.log.info({ sessionId, accountId, streamName, sourceId, priority: standing.priority }, 'a spare is on the air')
}

/** Another node ended the feed in the store, because its publisher has a higher priority. That one may have gone since. */
function dropOutranked(ctx: SessionContext, { feedId, sessionId }: ActiveFeed): void {
  const entry = ctx.sessions.get(sessionId)
  if (entry?.ending === null && feedOfSession(ctx, entry)?.feedId === feedId) makeSpare(ctx, sessionId)
}

/** The best spare of each source, if nothing better is on the air. */
function bestSpares(ctx: SessionContext): ActiveSession[] {
  const best: ActiveSession[] = []
  for (const spare of ctx.sessions.spares) {
    if (spare.ending !== null || isOutranked(ctx, spare)) continue
    const at = best.findIndex((one) => isSameSource(one.session, spare.session))
    const rival = best[at]
    if (rival === undefined) best.push(spare)
    else if (compareStandings(standingOf(spare), standingOf(rival)) > 0) best[at] = spare
  }
  return best
}

const standingOf = ({ standing }: ActiveSession): Standing => standing ?? { priority: null }

/** By what this node knows. `goLive` asks the store. */
function isOutranked({ sessions }: SessionContext, spare: ActiveSession): boolean {
  const { accountId, streamName, sourceId } = spare.session
  const local = sessions.feeds.ofStream(accountId, streamName).find((feed) => feed.sourceId === sourceId)
  const onAir = local && sessions.get(local.sessionId)
  if (onAir) return compareStandings(standingOf(spare), standingOf(onAir)) <= 0
  const remote = sessions.feeds.remotesOf(accountId, streamName).find((feed) => feed.sourceId === sourceId)
  return remote !== undefined && compareStandings(standingOf(spare), remote) <= 0
}

/**
 * Judges the publishers of sources with spares: one whose media is late is worse than all others until it is in time again.
 * Costs nothing where there are no spares.
 */
export class SpareWatch {
  readonly #ctx: SessionContext
  #judged: ReadonlySet<ActiveSession> = new Set()
  /** A publisher is late, or in time again, and spares were not settled since. */
  #isOwed = false

  constructor(ctx: SessionContext) {
    this.#ctx = ctx
    ctx.sessions.looks.look(ctx.clock.monotonic())
  }

  /** Call it every `LOOK_MS`. */
  async look(): Promise<void> {
    const nowMs = this.#ctx.clock.monotonic()
    if (this.#ctx.sessions.looks.look(nowMs) > 0) return
    const rivals = rivalsOf(this.#ctx)
    for (const entry of this.#judged) if (!rivals.has(entry)) acquit(entry)
    this.#judged = rivals
    const changed = [...rivals].filter((entry) => judge(entry, nowMs))
    this.#isOwed ||= changed.length > 0
    if (!this.#isOwed) return
    await settleSpares(this.#ctx)
    this.#isOwed = false
  }
}

/** The spares of this node, and the publishers on the air that they wait for. */
function rivalsOf({ sessions }: SessionContext): Set<ActiveSession> {
  const rivals = new Set(sessions.spares)
  for (const { session } of sessions.spares) {
    for (const { sessionId, sourceId } of sessions.feeds.ofStream(session.accountId, session.streamName)) {
      const entry = sessions.get(sessionId)
      if (entry && sourceId === session.sourceId) rivals.add(entry)
    }
  }
  return rivals
}

/** A publisher without rivals is not judged, so it counts as in time. */
function acquit({ standing }: ActiveSession): void {
  if (standing) Object.assign(standing, { isStalled: false, inTimeSinceMs: null })
}

/** True: it was in time and is late now, or the other way round. */
function judge({ standing }: ActiveSession, nowMs: number): boolean {
  if (standing === null) return false
  const before = standing.isStalled
  const lateMs = standing.isSilent ? Number.POSITIVE_INFINITY : standing.lateMs(nowMs)
  Object.assign(standing, nextStall(standing, lateMs, nowMs))
  return standing.isStalled !== before
}
