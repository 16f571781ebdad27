import { watchedFor } from '../../base/lateLooks.ts'
import { type FrameSource, takesAs } from '../../media/frame.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import { isSameSource, type SourceRef } from '../../core/streams/streamId.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { SessionContext } from '../context.ts'

/** A spare is on the air long before; if its node cannot write, viewers learn the end. */
const SPARE_MS = 5_000

/**
 * How long after its last media the end of a feed waits for its publisher, by the reason for which it is gone. Those that are gone for
 * another reason, such as a goodbye, are not expected back.
 */
const RETURN_MS: Readonly<Partial<Record<SessionEndReason, number>>> = {
  // An encoder that was killed, or whose network failed, connects again within seconds.
  lost: 5_000,
  reprioritized: 5_000,
  // By one that is on the air in the store: this node learns of it in a moment, maybe after it was told to end this one.
  replaced: 5_000,
  // To another node.
  moved: 10_000,
}

/**
 * The media of a feed, whose end waits until a spare of the source is on the air, or until a publisher is back that has not said
 * goodbye or moves to another node: HLS then goes on with it, instead of telling players that the stream is over.
 */
export const holdEnd = (ctx: SessionContext, of: ActiveSession, media: FrameSource): FrameSource => ({
  subscribe(sink) {
    let isOver = false
    let mediaAtMs = ctx.clock.monotonic()
    const end = (): void => {
      if (!isOver) sink.end()
    }
    const unsubscribe = media.subscribe({
      ...takesAs(sink),
      tracks: (tracks) => sink.tracks(tracks),
      frame(frame) {
        mediaAtMs = ctx.clock.monotonic()
        sink.frame(frame)
      },
      end: () => whenFollowed(ctx, of, mediaAtMs, end),
    })
    return () => {
      isOver = true
      unsubscribe()
    }
  },
})

function whenFollowed(
  { sessions, clock }: SessionContext,
  of: ActiveSession,
  mediaAtMs: number,
  then: () => void,
): void {
  const hasSpare = [...sessions.spares].some((spare) => spare !== of && isSameSource(spare.session, of.session))
  const silentMs = sessions.looks.lastedMs(mediaAtMs, clock.monotonic())
  const waitMs = Math.max(hasSpare ? SPARE_MS : 0, (RETURN_MS[reasonOf(of)] ?? 0) - silentMs)
  if (waitMs <= 0 || isFollowed(sessions, of)) return then()
  const over = new AbortController()
  const end = (): void => {
    if (over.signal.aborted) return
    over.abort()
    unwatch()
    sessions.heldEnds.delete(held)
    then()
  }
  const held = { of, hasSpare, end }
  sessions.heldEnds.add(held)
  const unwatch = sessions.feeds.watch((feed, what) => {
    if (what === 'started' && isSameSource(feed, of.session)) end()
  })
  // During a pause of this process, the publisher that comes back waits in a socket: that time does not count.
  void watchedFor(clock, waitMs, over.signal).then(end, () => undefined)
}

/** Another publisher of the source is on the air, here or at another node, as far as memory knows. */
function isFollowed({ feeds }: SessionContext['sessions'], { session }: ActiveSession): boolean {
  const { id, accountId, streamName } = session
  const here = feeds.ofStream(accountId, streamName).filter(({ sessionId }) => sessionId !== id)
  return [...here, ...feeds.remotesOf(accountId, streamName)].some((feed) => isSameSource(feed, session))
}

/** The publisher of a session that is over has said goodbye after all: nothing waits for it any more. */
export function endHeld({ sessions }: Pick<SessionContext, 'sessions'>, sessionId: string): void {
  for (const { of, hasSpare, end } of sessions.heldEnds) if (!hasSpare && of.session.id === sessionId) end()
}

/** The feeds of other nodes were read: players of those that are followed there go on there. */
export function endFollowed({ sessions }: Pick<SessionContext, 'sessions'>): void {
  for (const { of, end } of sessions.heldEnds) if (isFollowed(sessions, of)) end()
}

/** A publisher of another node may have closed its connection without a goodbye, as a page that is loaded again: only its node knows. */
const REMOTE_RETURN_MS = 2_000

/**
 * How long the publisher of a source that is on the air at no node is still expected back, in milliseconds; 0: it has left. Null: one
 * is on the air, or none is on record.
 * @param mayDelete whether the client of this session has closed its connection, and sent no DELETE
 */
export async function returnsWithinMs(
  ctx: Pick<SessionContext, 'sessions' | 'store' | 'clock'>,
  { accountId, streamName, sourceId }: SourceRef,
  mayDelete: (sessionId: string) => boolean,
): Promise<number | null> {
  const { feeds } = ctx.sessions
  if (feeds.get(accountId, streamName, sourceId) || feeds.remote(accountId, streamName, sourceId)) return null
  const last = await ctx.store.read.feeds.lastEnd({ accountId, streamName, sourceId })
  if (last === null) return null
  const isRemote = last.reason === 'left' && last.node !== ctx.sessions.node
  const reason = last.reason === 'left' && mayDelete(last.sessionId) ? 'lost' : last.reason
  const returnMs = isRemote ? REMOTE_RETURN_MS : (RETURN_MS[reason] ?? 0)
  // The clock of its node may be ahead of ours.
  return Math.max(0, returnMs - Math.max(0, ctx.clock.now() - last.atMs))
}

/** Why the media of a publisher has ended. Over WebRTC one says goodbye with a DELETE, which is on record as the end of the session. */
function reasonOf({ ending, standing }: ActiveSession): SessionEndReason {
  if (ending !== null) return ending.reason
  // One that was asked to move may close its connection before it opens the next one.
  return standing?.isAskedToMove === true ? 'moved' : (standing?.mediaEnd ?? 'lost')
}
