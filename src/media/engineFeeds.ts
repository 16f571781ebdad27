import type { Logger } from '../base/log.ts'
import type { Engine } from './engine.ts'
import type { FrameSource } from './frame.ts'

/** A feed that is on the air and came by another protocol than WebRTC. */
export interface ForeignFeed {
  readonly sessionId: string
  /** `accountId/streamName`. */
  readonly room: string
  readonly sourceId: string | null
}

/** Its media in codecs that WebRTC carries, until `stop`. */
export type ConvertForWebRtc = (media: FrameSource, room: string) => { media: FrameSource; stop(): Promise<void> }

/**
 * Shows feeds of other protocols to the engine's viewers, as long as their media lasts; again when a process of the engine
 * died under one. The engine knows them under an id of their own: their session is that of their own connection.
 */
export function engineFeeds(engine: Engine, convert: ConvertForWebRtc, log: Logger) {
  return (feed: ForeignFeed, source: FrameSource): void => {
    const sessionId = `feed-${feed.sessionId}`
    const converted = convert(source, feed.room)
    const show = (): void => {
      engine.feed({ ...feed, sessionId, source: converted.media }).catch((error: unknown) => {
        log.warn({ room: feed.room, reason: String(error) }, 'a feed cannot be shown over WebRTC')
      })
    }
    const unwatch = engine.watch((event) => {
      if (event.kind === 'ended' && event.sessionId === sessionId && event.reason === 'engine_died') show()
    })
    const over = (): void => {
      unwatch()
      void converted.stop()
    }
    converted.media.subscribe({ tracks: () => undefined, frame: () => undefined, end: over })
    show()
  }
}
