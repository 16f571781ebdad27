import type { Engine } from '../engine.ts'
import type { FrameSource } from '../frame.ts'
import { webRtcMedia, type WebRtcMediaOptions } from './opus.ts'

export interface EngineFeedOptions extends Omit<WebRtcMediaOptions, 'name'> {
  readonly engine: Engine
}

/** The feed that is brought to the engine; `sessionId` is its publisher's. */
interface Fed {
  readonly sessionId: string
  readonly accountId: string
  readonly streamName: string
  readonly sourceId: string | null
}

const RETRY_MS = 2000

/**
 * Brings a feed of H.264 and AAC to the viewers of a media engine, until its media ends. The engine knows it by an id of
 * its own: when a process of the engine dies, the encoder stays connected and its media is brought to the next one.
 */
export function feedEngine(source: FrameSource, fed: Fed, options: EngineFeedOptions): void {
  const { engine, clock, log } = options
  const room = `${fed.accountId}/${fed.streamName}`
  const sessionId = `${fed.sessionId}-feed`
  const { media, stop } = webRtcMedia(source, { ...options, name: room })
  const over = new AbortController()

  const bring = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const brought = await engine.feed({ sessionId, room, sourceId: fed.sourceId, source: media }).then(
        () => true,
        (error: unknown) => {
          log.warn({ room, reason: String(error) }, 'the media engine does not take a feed now')
          return false
        },
      )
      if (brought) return
      await clock.sleep(RETRY_MS, over.signal).catch(() => undefined)
    }
  }
  const unwatch = engine.watch((event) => {
    if (event.kind === 'ended' && event.sessionId === sessionId && event.reason === 'engine_died') void bring()
  })
  source.subscribe({
    tracks: () => undefined,
    frame: () => undefined,
    end: () => {
      over.abort()
      unwatch()
      void stop()
      void engine.end(sessionId)
    },
  })
  if (!over.signal.aborted) void bring()
}
