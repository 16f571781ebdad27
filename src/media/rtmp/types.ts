import type { FrameSink } from '../frame.ts'

/** Why a publication is over. */
export type RtmpEnd =
  | 'left' // the encoder said goodbye or closed the connection
  | 'lost' // nothing came any more, or the network broke
  | 'invalid' // what it sent cannot be served or is no RTMP; it was told
  | 'cut' // ended from outside
  | 'stopped' // the listener stops

/** Somebody asks to publish. */
export interface PublishRequest {
  /** As in `rtmp://host/app/name`, without slashes around it. */
  readonly app: string
  /** Without its query. */
  readonly name: string
  /** Of the name, and behind it of the application, where some encoders put it. */
  readonly query: URLSearchParams
  /** The address of the socket. */
  readonly peer: string
  /**
   * Ends the connection; the encoder reads `why` as the description of a status. Resolves after the last byte was taken in.
   * Safe to call more than once, and while the request is being decided.
   */
  cut(why: string): Promise<void>
}

/** `status` is told to the encoder as it is, before the connection is closed. */
export type PublishAnswer =
  | { readonly ok: false; readonly status: string }
  | {
      readonly ok: true
      /** Gets the media; its `end` is called exactly once, whatever happens. */
      readonly sink: FrameSink
      /** Bytes received on the connection so far, at least every second while they grow, and before the end. */
      bytes(bytesIn: number): void
      /** After `sink.end`. Exactly once. */
      ended(reason: RtmpEnd): void
    }

export interface RtmpLimits {
  readonly maxMessageBytes: number
  readonly maxConnections: number
  /** From the connection to the wish to publish. */
  readonly handshakeMs: number
  /** Without a complete audio or video message. */
  readonly idleMs: number
}
