import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { repeat } from '../base/repeat.ts'
import type { MediaEngine } from './engine.ts'
import type { FrameSource, RestingSource } from './frame.ts'

/** A feed that is on the air and came by another protocol than WebRTC. */
export interface ForeignFeed {
  readonly sessionId: string
  /** `accountId/streamName`. */
  readonly room: string
  readonly sourceId: string | null
}

/** Its media in codecs that WebRTC carries, made while somebody listens, until `stop`. */
export type ConvertForWebRtc = (media: FrameSource, room: string) => { media: RestingSource; stop(): Promise<void> }

export interface EngineFeedsOptions {
  readonly engine: MediaEngine
  readonly convert: ConvertForWebRtc
  readonly clock: Clock
  readonly log: Logger
}

const RETRY_MS = 2000

/**
 * Shows feeds of other protocols to the engine's viewers, as long as their media lasts; again when a process of the engine
 * died under one. The engine knows them under an id of their own: their session is that of their own connection. Only the
 * engine listens to what is converted, so that a converter may rest while it does not.
 */
export function engineFeeds({ engine, convert, clock, log }: EngineFeedsOptions) {
  return ({ sessionId: publisher, room, sourceId }: ForeignFeed, source: FrameSource): void => {
    const sessionId = `feed-${publisher}`
    const converted = convert(source, room)
    const over = new AbortController()
    const options = { clock, log: log.child({ room }), name: 'show a feed over WebRTC', everyMs: RETRY_MS }
    const show = (): void => {
      repeat({ ...options, signal: over.signal }, async () => {
        await engine.feed({ sessionId, room, sourceId, source: converted.media })
        return 'done'
      })
    }
    const unwatch = engine.watch((event) => {
      if (event.kind === 'ended' && event.sessionId === sessionId && event.reason === 'engine_died') show()
    })
    const end = (): void => {
      over.abort()
      unwatch()
      void converted.stop()
      void engine.end(sessionId)
    }
    show()
    source.subscribe({ tracks: () => undefined, frame: () => undefined, end })
  }
}
