import { tokenOf } from '../core/access/types.ts'
import { streamIdOf } from '../core/streams/streamId.ts'
import type { App } from './app.ts'
import type { ViewerEncoding } from './viewerEncoding.ts'
import type { PushedKeys } from '../services/pushedKeys.ts'
import type { IngestParts } from '../edge/ingest/broadcast.ts'
import { admitStreamKeys } from '../edge/ingest/streamKeys.ts'
import type { MediaEngine } from '../media/engine.ts'
import { Hub, TimedHub } from '../media/hub.ts'
import { SourceMeter } from '../media/measure/sourceMeter.ts'
import { Simulcast } from '../media/simulcast.ts'
import { engineFeeds } from '../media/engineFeeds.ts'
import { type Ffmpeg, ffmpegOf } from '../media/ffmpeg/ffmpeg.ts'
import { webRtcMedia } from '../media/convert/opus.ts'
import type { Measured } from '../services/measured.ts'
import type { PushSources } from '../media/transcoder/sources.ts'

/** The parts that take the media of publishers. */
interface IngestMedia {
  readonly ffmpeg: Ffmpeg
  readonly engine: MediaEngine
  readonly sources: PushSources
  readonly pushed: PushedKeys
  readonly measured: Measured
  readonly viewerEncoding: Pick<ViewerEncoding, 'room' | 'share'>
}

/** What every listener for publishers needs. Media is converted for WebRTC. */
export function ingestParts(app: App, media: IngestMedia): IngestParts {
  const { ctx } = app
  const { ffmpeg, engine, sources, pushed, measured, viewerEncoding } = media
  const show = engineFeeds({
    ...ctx,
    engine,
    convert(source, { sessionId: feedId, room: name, transcode = false }) {
      const encodingRoom = transcode || app.config.rtmp.transcodeBFrames ? viewerEncoding.room : null
      const [accountId = ''] = name.split('/')
      const own = ffmpegOf(ffmpeg, accountId)
      const converted = webRtcMedia(source, { ...ctx, ffmpeg: own, name, encodingRoom })
      // Without room it lacks the video of some broadcasts, which targets get.
      const unshare = encodingRoom === null ? null : viewerEncoding.share(feedId, converted)
      const stop = (): Promise<void> => {
        unshare?.()
        return converted.stop()
      }
      return { media: converted.media, original: converted.original, stop }
    },
  })
  return {
    ctx,
    makeHub: (utcTime) => (utcTime === 'none' ? new Hub(ctx) : new TimedHub(utcTime, ctx.clock, ctx)),
    makeMeter: () => new SourceMeter(),
    simulcast: new Simulcast(ctx.clock),
    streamKeys: admitStreamKeys({
      ctx,
      pushed,
      meter: measured,
      take: (ingestId, cut) => sources.publish(ingestId, cut),
      refused: (ingestId, why) => sources.refused(ingestId, why),
    }),
    feed: (feed, media, priority) => {
      const entry = ctx.sessions.get(feed.sessionId)
      const transcode = entry !== undefined && tokenOf(entry.request.credential)?.transcode === true
      // Not the id of the session, which may have another feed before the engine has ended this one.
      return show({ ...feed, sessionId: feed.feedId, priority, transcode, room: streamIdOf(feed) }, media)
    },
  }
}
