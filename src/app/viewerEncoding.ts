import { tokenOf } from '../core/access/types.ts'
import type { App } from './app.ts'
import type { Encoders } from './encoders.ts'
import { repeat } from '../base/repeat.ts'
import { PROTOCOL_FACTS } from '../core/access/protocols.ts'
import { streamIdOf } from '../core/streams/streamId.ts'
import { ENDLESS_ROOM, type EncodingRoom } from '../media/convert/encodingRoom.ts'
import { type WebRtcMedia, webRtcMedia } from '../media/convert/opus.ts'
import { ViewerH264 } from '../media/convert/viewerH264.ts'
import type { MediaEngine } from '../media/engine.ts'
import type { ActiveFeed } from '../media/feedsOnAir.ts'
import type { FrameSource } from '../media/frame.ts'
import { type Ffmpeg, ffmpegOf } from '../media/ffmpeg/ffmpeg.ts'

const LOOK_MS = 1000
const NO_ROOM =
  'Sluice encodes this stream as H.264 for viewers who cannot get it as it is, but this machine has no room for that now: try again later'

/** What viewers over WebRTC get of a broadcast that came otherwise. */
type SharedMedia = Pick<WebRtcMedia, 'media' | 'lacksRoom'>

export interface ViewerEncoding {
  /** The media of a feed for HLS: with the H.264 that viewers over WebRTC get, if the token asks for that. */
  mediaOf(feed: ActiveFeed): FrameSource
  /** What this machine can encode for viewers. */
  readonly room: EncodingRoom
  /** `refusalOf` asks this about a feed, and its targets share it, until the result is called. */
  share(feedId: string, media: SharedMedia): () => void
  /** What is converted for viewers, so that targets over WebRTC need no other conversion; undefined: nothing is. */
  readonly sharedOf: (feedId: string) => SharedMedia | undefined
  /** Why a viewer gets no H.264 of a stream, as a sentence for it; null: it is encoded, or need not be, or must not. */
  refusalOf(accountId: string, streamName: string, sourceId: string | null): string | null
  stop(): Promise<void>
}

interface Encoded {
  readonly h264: ViewerH264
  end(): void
}

/**
 * Offers broadcasts that come over WebRTC as H.264, too, if their tokens ask for that, until it is stopped. `engineFeeds` converts
 * those of other protocols. Start it before what packages feeds, which asks it for the media of each new one.
 */
export function startViewerEncoding(
  app: App,
  { engine, ffmpeg, load }: { readonly engine: MediaEngine; readonly ffmpeg: Ffmpeg } & Pick<Encoders, 'load'>,
): ViewerEncoding {
  const { ctx } = app
  /** By the session of the publisher. */
  const encoded = new Map<string, Encoded>()
  /** Those that may have to be encoded for viewers, by the feed. */
  const encodable = new Map<string, ViewerH264 | SharedMedia>()
  const room: EncodingRoom = {
    isFor: (video) => ffmpeg.running < app.config.ffmpeg.maxProcesses && load.hasRoomFor(video),
    reserve: (video) => load.reserve(video),
  }
  const begin = (feed: ActiveFeed): void => {
    const { accountId, streamName, sourceId, feedId, sessionId: publisher } = feed
    const entry = ctx.sessions.get(publisher)
    if (!entry || !PROTOCOL_FACTS[entry.session.protocol].usesMediaProcess) return
    if (tokenOf(entry.request.credential)?.transcode !== true) return
    const name = streamIdOf({ accountId, streamName })
    const own = ffmpegOf(ffmpeg, accountId)
    const converted = webRtcMedia(feed.media, { ...ctx, ffmpeg: own, name, encodingRoom: ENDLESS_ROOM })
    const h264 = new ViewerH264({ converted: converted.media, room })
    encodable.set(feedId, h264)
    const sessionId = `h264-${feedId}`
    encoded.set(publisher, {
      h264,
      end() {
        encodable.delete(feedId)
        void converted.stop()
        void engine.end(sessionId)
      },
    })
    h264.tracks(entry.media?.tracks ?? [])
    const form = { sessionId, room: name, sourceId, preferredTo: publisher, source: h264 }
    engine.feed(form).catch((error: unknown) => {
      ctx.log.warn({ err: error, room: name }, 'H.264 for viewers who lack the codec cannot be offered')
    })
  }
  const unwatchFeeds = ctx.sessions.feeds.watch((feed, what) => {
    encoded.get(feed.sessionId)?.end()
    encoded.delete(feed.sessionId)
    if (what === 'started') begin(feed)
  })
  const unwatchEngine = engine.watch((event) => {
    if (event.kind === 'tracks') encoded.get(event.sessionId)?.h264.tracks(event.tracks)
  })
  const looking = repeat({ ...ctx, name: 'look for room to encode for viewers', everyMs: LOOK_MS }, async () => {
    for (const { h264 } of encoded.values()) h264.look()
  })
  return {
    mediaOf: ({ sessionId, media, hlsCodecs }) =>
      (hlsCodecs !== 'source' && encoded.get(sessionId)?.h264.besides(media)) || media,
    room,
    share(feedId, media) {
      encodable.set(feedId, media)
      return () => void encodable.delete(feedId)
    },
    sharedOf: (feedId) => withoutViewerH264(encodable.get(feedId)),
    refusalOf(accountId, streamName, sourceId) {
      const feed = ctx.sessions.feeds.get(accountId, streamName, sourceId)
      return feed !== undefined && encodable.get(feed.feedId)?.lacksRoom === true ? NO_ROOM : null
    },
    async stop() {
      unwatchFeeds()
      unwatchEngine()
      await looking.stop()
      for (const one of encoded.values()) one.end()
    },
  }
}

/** That is for viewers who lack the codec alone. */
const withoutViewerH264 = (media: ViewerH264 | SharedMedia | undefined): SharedMedia | undefined =>
  media instanceof ViewerH264 ? undefined : media
