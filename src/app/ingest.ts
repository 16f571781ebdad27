import type { App } from './app.ts'
import type { PushedKeys } from '../services/pushedKeys.ts'
import type { IngestParts } from '../edge/ingest/broadcast.ts'
import { admitStreamKeys } from '../edge/ingest/streamKeys.ts'
import type { MediaEngine } from '../media/engine.ts'
import { Hub, TimedHub } from '../media/hub.ts'
import { SourceMeter } from '../media/measure/sourceMeter.ts'
import { engineFeeds } from '../media/engineFeeds.ts'
import type { Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { webRtcMedia } from '../media/convert/opus.ts'
import { streamKey } from '../media/sessionRegistry.ts'
import type { Measured } from '../services/measured.ts'
import type { PushSources } from '../media/transcoder/sources.ts'

/** The parts that take the media of publishers. */
interface IngestMedia {
  readonly ffmpeg: Ffmpeg
  readonly engine: MediaEngine
  readonly sources: PushSources
  readonly pushed: PushedKeys
  readonly measured: Measured
}

/** What every listener for publishers needs. Media is converted for WebRTC. */
export function ingestParts(app: App, { ffmpeg, engine, sources, pushed, measured }: IngestMedia): IngestParts {
  const { ctx } = app
  const show = engineFeeds({
    ...ctx,
    engine,
    convert: (media, name) =>
      webRtcMedia(media, { ...ctx, ffmpeg, name, transcodeBFrames: app.config.rtmp.transcodeBFrames }),
  })
  return {
    ctx,
    makeHub: (utcTime) => (utcTime === 'none' ? new Hub() : new TimedHub(utcTime, ctx.clock)),
    makeMeter: () => new SourceMeter(),
    streamKeys: admitStreamKeys({
      ctx,
      pushed,
      meter: measured,
      take: (ingestId, cut) => sources.publish(ingestId, cut),
    }),
    feed: (feed, media, priority) =>
      // Not the id of the session, which may have another feed before the engine has ended this one.
      show({ ...feed, sessionId: feed.feedId, priority, room: streamKey(feed.accountId, feed.streamName) }, media),
  }
}
