import { type App, CannotStart } from './app.ts'
import type { Tls } from './tls.ts'
import { openFilesLimit } from '../base/openFiles.ts'
import type { Context } from '../commands/context.ts'
import { connectionsWithin } from '../config/openFiles.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import { Measured } from '../services/measured.ts'
import type { PushedKeys } from '../services/pushedKeys.ts'
import { publishOverRtmp } from '../edge/rtmp/publish.ts'
import { admitStreamKeys } from '../edge/rtmp/streamKeys.ts'
import type { MediaEngine } from '../media/engine.ts'
import { Hub } from '../media/hub.ts'
import { type ConvertForWebRtc, engineFeeds } from '../media/engineFeeds.ts'
import type { Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { type RtmpListener, startRtmp } from '../media/rtmp/listener.ts'
import type { RtmpLimits } from '../media/rtmp/types.ts'
import { webRtcMedia } from '../media/convert/opus.ts'
import { streamKey } from '../media/sessionRegistry.ts'
import type { PushSources } from '../media/transcoder/sources.ts'

/** The parts that take media from RTMP. */
interface RtmpParts {
  readonly ffmpeg: Ffmpeg
  readonly engine: MediaEngine
  readonly tls: Tls | null
  readonly sources: PushSources
  readonly pushed: PushedKeys
  readonly measured: Measured
}

/** Listens for encoders; null when RTMP is switched off. */
export async function openRtmp(
  app: App,
  { ffmpeg, engine, tls, sources, pushed, measured }: RtmpParts,
): Promise<RtmpListener | null> {
  const { config, ctx } = app
  const { rtmp } = config
  if (!rtmp.enabled) return null
  const { host, port } = rtmp
  const openFiles = openFilesLimit()
  const limits = liveView(() => limitsOf(app.config, openFiles))
  const convert = toWebRtc(ctx, ffmpeg, () => app.config.rtmp.transcodeBFrames)
  const show = engineFeeds({ ...ctx, engine, convert })
  const publish = publishOverRtmp({
    ctx,
    makeHub: () => new Hub(),
    streamKeys: admitStreamKeys({
      ctx,
      pushed,
      meter: measured,
      take: (ingestId, cut) => sources.publish(ingestId, cut),
    }),
    feed: (feed, media) => show({ ...feed, room: streamKey(feed.accountId, feed.streamName) }, media),
  })
  const context = tls && (() => tls.certificate.current.context)
  const rtmps = context && rtmp.tlsPort !== 0 ? { tls: { port: rtmp.tlsPort, context } } : {}
  try {
    const listener = await startRtmp({ ...ctx, ...rtmps, log: ctx.sampled.encoders, host, port, limits, publish })
    const { tlsPort } = listener
    ctx.log.info({ host, port: listener.port, ...(tlsPort === null ? {} : { tlsPort }) }, 'taking RTMP')
    return listener
  } catch (error) {
    const { port: failed = port, message } = error as Error & { port?: number }
    const key = failed === rtmp.tlsPort ? 'rtmp.tlsPort' : 'rtmp.port'
    throw new CannotStart(`${key}: cannot listen on ${host} port ${failed}: ${message}`)
  }
}

const limitsOf = (config: Config, openFiles: number | null): RtmpLimits => ({
  maxMessageBytes: config.rtmp.maxMessageBytes,
  maxConnections: connectionsWithin(config, openFiles).rtmp,
  handshakeMs: config.rtmp.handshakeSeconds * 1000,
  idleMs: config.rtmp.idleSeconds * 1000,
})

/** Converts H.264 and AAC for WebRTC. */
const toWebRtc =
  (ctx: Context, ffmpeg: Ffmpeg, transcodeBFrames: () => boolean): ConvertForWebRtc =>
  (media, name) =>
    webRtcMedia(media, { ...ctx, ffmpeg, name, transcodeBFrames: transcodeBFrames() })
