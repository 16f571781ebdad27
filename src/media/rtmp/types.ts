import type { FrameSink } from '../frame.ts'

/** Why a publication is over. */
export type RtmpEnd =
  | 'left' // the encoder said goodbye or closed the connection
  | 'lost' // the encoder fell silent, or the network failed
  | 'invalid' // its media is unsupported or not RTMP; the encoder got a status
  | 'cut' // ended from outside
  | 'stopped' // the listener stops

/** A request to publish. */
export interface PublishRequest {
  /** As in `rtmp://host/app/name`, without slashes around it. */
  readonly app: string
  /** Without its query. */
  readonly name: string
  /** The query of the name, followed by that of the application, where some encoders put it. */
  readonly query: URLSearchParams
  /** The address of the socket. */
  readonly peer: string
  /**
   * Ends the connection; the encoder reads `why` as the description of a status. Resolves after the last media byte. Safe
   * to call more than once, and while the request is being decided.
   */
  cut(why: string): Promise<void>
}

/** The encoder gets `status` unchanged, before the connection closes. */
export type PublishAnswer =
  | { readonly ok: false; readonly status: string }
  | {
      readonly ok: true
      /** Takes the media; its `end` is called exactly once. */
      readonly sink: FrameSink
      /** Bytes received on the connection so far, at least every second while they grow, and before the end. */
      bytes(bytesIn: number): void
      /** After `sink.end`. Exactly once. */
      ended(reason: RtmpEnd): void
    }

export interface RtmpLimits {
  readonly maxMessageBytes: number
  readonly maxConnections: number
  /** The longest time from the connection to `publish`. */
  readonly handshakeMs: number
  /** The longest time without a complete audio or video message. */
  readonly idleMs: number
}
