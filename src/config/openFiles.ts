import type { Config } from './schema.ts'

export interface ConnectionsWithin {
  readonly http: number
  readonly rtmp: number
}

/** Descriptors of one ffmpeg process: pipes and files. */
const PER_FFMPEG = 8
/** Connections for one slot of a delivery: those that take long share it (`delivery/slots.ts`). */
const PER_DELIVERY = 4
/** Descriptors for the database, open segments, recordings, media processes and logs. */
const OTHERS = 400

/**
 * Limits the connections so that enough descriptors remain for RTMP, ffmpeg, the database and webhooks. HTTP gets at
 * least half of the descriptors and RTMP at most a quarter, however few there are.
 *
 * @param openFiles null: the limit is unknown, and the configured numbers apply
 */
export function connectionsWithin(config: Config, openFiles: number | null): ConnectionsWithin {
  const { server, rtmp, ffmpeg, storage, webhooks } = config
  const wanted = { http: server.maxConnections, rtmp: rtmp.maxConnections }
  if (openFiles === null) return wanted
  const forRtmp = Math.min(wanted.rtmp, Math.floor(openFiles / 4))
  const deliveries = webhooks.inFlight * PER_DELIVERY
  const others = forRtmp + ffmpeg.maxProcesses * PER_FFMPEG + storage.poolSize + deliveries + OTHERS
  const http = Math.min(wanted.http, Math.max(Math.floor(openFiles / 2), openFiles - others))
  return { http, rtmp: forRtmp }
}
