import { type App, CannotStart } from './app.ts'
import { explainListening, SRT_INSTEAD } from '../cli/port.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import type { IngestParts } from '../edge/ingest/broadcast.ts'
import { answerSrt } from '../edge/srt/publish.ts'
import { type SrtListener, startSrt } from '../media/srt/listener.ts'
import type { SrtLimits, SrtRequest } from '../media/srt/types.ts'

/** Listens for publishers; null when SRT is switched off. */
export async function openSrt(app: App, ingest: IngestParts): Promise<SrtListener | null> {
  const { config, ctx } = app
  const { enabled, host, port } = config.srt
  if (!enabled) return null
  const limits = liveView(() => limitsOf(app.config))
  const isEncryptionRequired = () => app.config.srt.encryption === 'required'
  const publish = (request: SrtRequest) => answerSrt(ingest, isEncryptionRequired, request)
  const log = ctx.sampled.publishers
  try {
    const listener = await startSrt({ ...ctx, log, host, port, limits, publish })
    ctx.log.info({ host, port: listener.port }, 'taking SRT')
    return listener
  } catch (error) {
    throw new CannotStart(explainListening(error as Error, host, port, SRT_INSTEAD))
  }
}

const limitsOf = ({ srt, sessions }: Config): SrtLimits => ({
  latencyMs: srt.latencyMs,
  maxLatencyMs: MAX_LATENCY_MS,
  maxConnections: srt.maxConnections,
  maxConnectingPerAddress: sessions.maxConnectingPerAddress,
  maxFrameBytes: srt.maxFrameBytes,
  idleMs: srt.idleSeconds * 1000,
})

/** Longer than this, a broadcast is hardly live. */
const MAX_LATENCY_MS = 8000
