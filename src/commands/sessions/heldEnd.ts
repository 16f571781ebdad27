import { watchedFor } from '../../base/lateLooks.ts'
import { type FrameSource, takesAs } from '../../media/frame.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { Session } from '../../core/sessions/types.ts'
import type { SessionContext } from '../context.ts'

/** A spare is on the air long before; if its node cannot write, viewers learn the end. */
const HELD_MS = 5_000

/** A publisher that was moved connects to another node. By then it is back, or the stream is over. */
const MOVING_MS = 10_000

type SourceName = Pick<Session, 'accountId' | 'streamName' | 'sourceId'>

/** Whether two sessions or feeds are of one source. */
export const isSameSource = (a: SourceName, b: SourceName): boolean =>
  a.accountId === b.accountId && a.streamName === b.streamName && a.sourceId === b.sourceId

/**
 * The media of a feed, whose end waits until a spare of the source is on the air: HLS then goes on with the spare, instead of
 * telling players that the stream is over. So it does when the publisher moves to another node.
 */
export const holdEnd = (ctx: SessionContext, of: ActiveSession, media: FrameSource): FrameSource => ({
  subscribe(sink) {
    let isOver = false
    const end = (): void => {
      if (!isOver) sink.end()
    }
    const unsubscribe = media.subscribe({
      ...takesAs(sink),
      tracks: (tracks) => sink.tracks(tracks),
      frame: (frame) => sink.frame(frame),
      end: () => whenFollowed(ctx, of, end),
    })
    return () => {
      isOver = true
      unsubscribe()
    }
  },
})

function whenFollowed({ sessions, clock }: SessionContext, of: ActiveSession, then: () => void): void {
  // One that was asked to move may close its connection before it opens the next one.
  const isMoving = of.ending === null ? of.standing?.isAskedToMove === true : of.ending.reason === 'moved'
  const hasSpare = [...sessions.spares].some((spare) => spare !== of && isSameSource(spare.session, of.session))
  if (!isMoving && !hasSpare) return then()
  const over = new AbortController()
  const end = (): void => {
    if (over.signal.aborted) return
    over.abort()
    unwatch()
    then()
  }
  const unwatch = sessions.feeds.watch((feed, what) => {
    if (what === 'started' && isSameSource(feed, of.session)) end()
  })
  // During a pause of this process, the publisher that comes back waits in a socket: that time does not count.
  void watchedFor(clock, isMoving ? MOVING_MS : HELD_MS, over.signal).then(end, () => undefined)
}
