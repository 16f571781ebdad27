import type { Config } from './schema.ts'

export interface ConnectionsWithin {
  readonly http: number
  readonly rtmp: number
}

/** Pipes and files of one ffmpeg process. */
const PER_FFMPEG = 8
/** The database's files, segments that are held open, recordings, media processes, logs. */
const OTHERS = 400

/**
 * How many connections there may be so that descriptors are left to what else needs them: RTMP, ffmpeg, the database,
 * webhooks. HTTP has half of the descriptors at least and RTMP a quarter at most, however few there are.
 *
 * @param openFiles null: the limit is not known, and what is configured holds
 */
export function connectionsWithin(config: Config, openFiles: number | null): ConnectionsWithin {
  const { server, rtmp, ffmpeg, storage, webhooks } = config
  const wanted = { http: server.maxConnections, rtmp: rtmp.maxConnections }
  if (openFiles === null) return wanted
  const forRtmp = Math.min(wanted.rtmp, Math.floor(openFiles / 4))
  const others = forRtmp + ffmpeg.maxProcesses * PER_FFMPEG + storage.poolSize + webhooks.inFlight + OTHERS
  const http = Math.min(wanted.http, Math.max(Math.floor(openFiles / 2), openFiles - others))
  return { http, rtmp: forRtmp }
}
