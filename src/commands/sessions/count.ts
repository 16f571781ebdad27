import { allEnded } from '../../base/allEnded.ts'
import { shareOfRound } from '../../base/rotation.ts'
import type { Bytes } from '../../core/sessions/types.ts'
import type { SourceReading } from '../../core/streams/source.ts'
import type { TrackInfo } from '../../media/frame.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { SessionContext } from '../context.ts'
import { endSession, writeLateEnds } from './close.ts'
import { writeUsage } from './writeUsage.ts'

/** Sessions in one transaction. */
const AT_ONCE = 1_000
/** Within this time the total of each session is written once. */
const TOTALS_MS = 60_000

/** Totals of a session so far. */
export interface SessionTotals extends Bytes {
  /** The time since a publisher's last media. */
  readonly silentMs?: number
  /** Video frames of a publisher. */
  readonly frames?: number
  /** What was measured of its media; absent: nothing new. */
  readonly source?: SourceReading
}

/** Updates the totals of a session; they only rise. Synchronous and cheap; the totals are written in rounds. */
export function countBytes(
  ctx: SessionContext,
  sessionId: string,
  { bytesIn, bytesOut, silentMs = 0, frames = 0, source }: SessionTotals,
): void {
  const entry = ctx.sessions.get(sessionId) ?? ctx.sessions.leaving.get(sessionId)?.entry
  if (!entry) return
  const { bytes } = entry
  const now = { bytesIn: Math.max(bytes.bytesIn, bytesIn), bytesOut: Math.max(bytes.bytesOut, bytesOut) }
  const [movedIn, movedOut] = [now.bytesIn - bytes.bytesIn, now.bytesOut - bytes.bytesOut]
  ctx.sessions.counts.bytesIn += movedIn
  ctx.sessions.counts.bytesOut += movedOut
  ctx.sessions.streams.moved(entry.session, movedIn, movedOut)
  ctx.sessions.usage.moved(entry.session, movedIn, movedOut, ctx.clock.now())
  if (entry.media) {
    entry.media.countedAtMs = ctx.clock.monotonic()
    entry.media.frames = Math.max(entry.media.frames, frames)
    entry.media.source = source ?? entry.media.source
  }
  const isPublisher = entry.session.action === 'publish'
  if (isPublisher ? now.bytesIn > bytes.bytesIn : now.bytesOut > bytes.bytesOut)
    entry.mediaAtMs = ctx.clock.monotonic() - silentMs
  entry.bytes = now
}

/** Writes all counts, including those of ended sessions. */
export async function writeBytes(ctx: SessionContext): Promise<void> {
  await allEnded([writeLateEnds(ctx), writeCounts(ctx, Number.POSITIVE_INFINITY)])
}

/**
 * Writes what open sessions counted, and what it counts for, without waiting for the ends of other sessions: in one of the
 * rounds that come every `everyMs` what has its turn, and with `Infinity` all.
 */
export async function writeCounts(ctx: SessionContext, everyMs: number): Promise<void> {
  const sinceMs = ctx.clock.monotonic()
  await allEnded([writeTotals(ctx, everyMs), writeUsage(ctx, everyMs)])
  ctx.sessions.counts.writingMs = ctx.clock.monotonic() - sinceMs
}

/** Keeps what a publisher sends, for those who ask. */
export function noteTracks(
  { sessions }: Pick<SessionContext, 'sessions'>,
  sessionId: string,
  tracks: readonly TrackInfo[],
): void {
  const media = sessions.get(sessionId)?.media
  if (media) media.tracks = tracks
}

/**
 * Writes totals of open sessions: those of publishers in each round, because they are few; those of others in turn. Also
 * cuts sessions that have ended in the store, for example because another node gave this one up. All calls during one write
 * share the next write.
 */
const writeTotals = (ctx: SessionContext, everyMs: number): Promise<void> =>
  ctx.sessions.writing.add(everyMs, ([roundMs = everyMs]) => writeRisen(ctx, roundMs))

async function writeRisen(ctx: SessionContext, everyMs: number): Promise<void> {
  const { sessions } = ctx
  const publishers = sessions.all().filter(({ session }) => session.action === 'publish')
  const others = sessions.turns.next(shareOfRound(sessions.turns.size, everyMs, TOTALS_MS))
  const risen = [...publishers, ...others].filter(({ bytes, written }) => bytes !== written)
  for (let at = 0; at < risen.length; at += AT_ONCE) await writeSome(ctx, risen.slice(at, at + AT_ONCE))
}

async function writeSome(ctx: SessionContext, entries: readonly ActiveSession[]): Promise<void> {
  const totals = entries.map(({ session, bytes }) => ({ id: session.id, ...bytes }))
  const sent = entries.map(({ bytes }) => bytes)
  const gone = await ctx.store.transaction((tx) => tx.sessions.count(totals))
  ctx.sessions.counts.writtenRows += totals.length
  for (const [at, entry] of entries.entries()) entry.written = sent[at] ?? entry.written
  for (const id of gone) {
    const entry = ctx.sessions.get(id)
    if (entry) void endSession(ctx, entry, 'lost')
  }
}
