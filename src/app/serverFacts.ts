import { isPostgresUrl } from '../base/postgresUrl.ts'
import { VERSION } from '../base/version.ts'
import type { Config } from '../config/schema.ts'
import type { ServerFacts } from '../edge/http/about/server.ts'

/** What `GET /api/server` tells. */
export const factsOf = ({ server, rtmp, srt, channels, webrtc, sessions, storage }: Config): ServerFacts => ({
  version: VERSION,
  database: isPostgresUrl(storage.url) ? 'postgres' : 'sqlite',
  publicUrl: server.publicUrl,
  nodeUrl: server.nodeUrl,
  rtmp: rtmp.enabled ? { port: rtmp.port, tlsPort: rtmp.tlsPort, url: channels.rtmpUrl } : null,
  srt: srt.enabled ? { port: srt.port } : null,
  httpPort: server.port,
  webRtcPort: webrtc.port,
  limits: {
    sessions: sessions.max,
    viewersPerAddress: sessions.maxViewersPerAddress,
    publishersPerAddress: sessions.maxPublishersPerAddress,
    publisherKilobits: webrtc.maxBitrateKilobits,
  },
})
