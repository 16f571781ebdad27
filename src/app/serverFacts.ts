import { VERSION } from '../base/version.ts'
import type { Config } from '../config/schema.ts'
import type { ServerFacts } from '../edge/http/about/server.ts'
import { isServerUrl } from '../store/open.ts'

/** What `GET /api/server` tells. */
export const factsOf = ({ server, rtmp, channels, webrtc, sessions, storage }: Config): ServerFacts => ({
  version: VERSION,
  database: isServerUrl(storage.url) ? 'postgres' : 'sqlite',
  publicUrl: server.publicUrl,
  nodeUrl: server.nodeUrl,
  rtmp: rtmp.enabled ? { port: rtmp.port, url: channels.rtmpUrl } : null,
  httpPort: server.port,
  webRtcPort: webrtc.port,
  limits: {
    sessions: sessions.max,
    viewersPerAddress: sessions.maxViewersPerAddress,
    publishersPerAddress: sessions.maxPublishersPerAddress,
    publisherKilobits: webrtc.maxBitrateKilobits,
  },
})
