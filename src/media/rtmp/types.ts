import type { PublisherConnection } from '../publishing.ts'

/** A request to publish. The publisher reads the reason of a `cut`, or of a refusal, as the description of a status. */
export interface PublishRequest extends PublisherConnection {
  /** As in `rtmp://host/app/name`, without slashes around it. */
  readonly app: string
  /** Without its query. */
  readonly name: string
  /** The query of the name, followed by that of the application, where some publishers put it. */
  readonly query: URLSearchParams
}

export interface RtmpLimits {
  readonly maxMessageBytes: number
  readonly maxConnections: number
  /** Connections of one address that are not admitted; an IPv6 network is one address. 0: no limit. */
  readonly maxPendingPerAddress: number
  /** The longest time from the connection to `publish`. */
  readonly handshakeMs: number
  /** The longest time without a complete audio or video message. */
  readonly idleMs: number
}
