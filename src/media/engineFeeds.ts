import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { repeat } from '../base/repeat.ts'
import type { MediaEngine } from './engine.ts'
import type { FrameSource, RestingSource } from './frame.ts'

/** A feed on the air that was not published over WebRTC. */
export interface ForeignFeed {
  readonly sessionId: string
  /** `accountId/streamName`. */
  readonly room: string
  readonly sourceId: string | null
  /** Of its publisher among those of the source; null or absent: the lowest. */
  readonly priority?: number | null
  /** Its token asks for H.264 for viewers who lack its codec. */
  readonly transcode?: boolean
}

/** Converts media into codecs that WebRTC carries, while it has subscribers, until `stop`. */
type ConvertForWebRtc = (
  media: FrameSource,
  feed: ForeignFeed,
) => { media: RestingSource; original: RestingSource; stop(): Promise<void> }

export interface EngineFeedsOptions {
  readonly engine: MediaEngine
  readonly convert: ConvertForWebRtc
  readonly clock: Clock
  readonly log: Logger
}

const RETRY_MS = 2000

/**
 * Offers feeds of other protocols to the engine's viewers until their media ends or the result is called, and again after a
 * process of the engine died: as every viewer can watch them, and in the codec of the publisher for viewers who have it. In the
 * engine a feed has ids of its own, because its session belongs to its own connection. The engine is the only subscriber of the
 * converted media, so the converter rests while the engine has no viewers.
 */
export function engineFeeds({ engine, convert, clock, log }: EngineFeedsOptions) {
  return (feed: ForeignFeed, source: FrameSource): (() => void) => {
    const { sessionId: publisher, room, sourceId, priority = null } = feed
    const sessionId = `feed-${publisher}`
    const converted = convert(source, feed)
    const forms = [
      { sessionId: `original-${publisher}`, preferredTo: sessionId, source: converted.original },
      { sessionId, preferredTo: null, source: converted.media },
    ]
    const over = new AbortController()
    const options = { clock, log: log.child({ room }), name: 'show a feed over WebRTC', everyMs: RETRY_MS }
    const show = (form: (typeof forms)[number]): void => {
      repeat({ ...options, signal: over.signal }, async () => {
        await engine.feed({ room, sourceId, priority, ...form })
        return 'done'
      })
    }
    const unwatch = engine.watch((event) => {
      if (event.kind !== 'ended' || event.reason !== 'engine_died') return
      for (const form of forms) if (form.sessionId === event.sessionId) show(form)
    })
    const end = (): void => {
      if (over.signal.aborted) return
      over.abort()
      unwatch()
      void converted.stop()
      for (const form of forms) void engine.end(form.sessionId)
    }
    for (const form of forms) show(form)
    const unsubscribe = source.subscribe({ tracks: () => undefined, frame: () => undefined, end })
    return () => {
      unsubscribe()
      end()
    }
  }
}
