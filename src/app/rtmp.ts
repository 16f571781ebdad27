import { type App, CannotStart } from './app.ts'
import type { Tls } from './tls.ts'
import { explainListening, RTMP_INSTEAD, RTMPS_INSTEAD } from '../cli/port.ts'
import { openFilesLimit } from '../base/openFiles.ts'
import { connectionsWithin } from '../config/openFiles.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import { answerPublisher, type IngestParts } from '../edge/ingest/broadcast.ts'
import { readDestination } from '../edge/rtmp/address.ts'
import { type RtmpListener, startRtmp } from '../media/rtmp/listener.ts'
import type { PublishRequest, RtmpLimits } from '../media/rtmp/types.ts'

/** Listens for publishers; null when RTMP is switched off. */
export async function openRtmp(app: App, ingest: IngestParts, tls: Tls | null): Promise<RtmpListener | null> {
  const { config, ctx } = app
  const { rtmp } = config
  if (!rtmp.enabled) return null
  const { host, port } = rtmp
  const openFiles = openFilesLimit()
  const limits = liveView(() => limitsOf(app.config, openFiles))
  const publish = (request: PublishRequest) => answerPublisher(ingest, 'rtmp', request, readDestination(request))
  const context = tls && (() => tls.certificate.current.context)
  const rtmps = context && rtmp.tlsPort !== 0 ? { tls: { port: rtmp.tlsPort, context } } : {}
  try {
    const listener = await startRtmp({ ...ctx, ...rtmps, log: ctx.sampled.publishers, host, port, limits, publish })
    const { tlsPort } = listener
    ctx.log.info({ host, port: listener.port, ...(tlsPort === null ? {} : { tlsPort }) }, 'taking RTMP')
    return listener
  } catch (error) {
    const failed = error as Error & { port?: number }
    const instead = failed.port === rtmp.tlsPort ? RTMPS_INSTEAD : RTMP_INSTEAD
    throw new CannotStart(explainListening(failed, host, failed.port ?? port, instead))
  }
}

const limitsOf = (config: Config, openFiles: number | null): RtmpLimits => ({
  maxMessageBytes: config.rtmp.maxMessageBytes,
  maxConnections: connectionsWithin(config, openFiles).rtmp,
  maxPendingPerAddress: config.sessions.maxConnectingPerAddress,
  handshakeMs: config.rtmp.handshakeSeconds * 1000,
  idleMs: config.rtmp.idleSeconds * 1000,
})
