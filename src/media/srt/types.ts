import type { PublishAnswer, PublisherConnection, PublishRefusal } from '../publishing.ts'

/** A request to publish. Its address is proved. A caller reads a refusal as a code; the reason of a `cut` goes to the log. */
export interface SrtRequest extends PublisherConnection {
  /** As on the wire: encoders differ in what they percent-encode. */
  readonly streamId: string
  /**
   * Whether a passphrase opens the caller's keys; null: it sends without encryption. A caller whose keys were not opened is
   * refused, whatever the answer is.
   */
  readonly unlock: ((passphrase: string) => Promise<boolean>) | null
}

export type SrtRefusal =
  | PublishRefusal
  | 'mode' // it does not want to publish
  | 'passphrase' // it is another one
  | 'unencrypted' // its token or this server demands encryption

export type SrtAnswer = PublishAnswer | { readonly ok: false; readonly status: string; readonly reason: SrtRefusal }

export interface SrtLimits {
  /** How long a missing packet is waited for, unless the caller wants more. */
  readonly latencyMs: number
  /** The most that a caller may want. */
  readonly maxLatencyMs: number
  readonly maxConnections: number
  /** Callers of one address that are not decided on yet; 0: no limit. */
  readonly maxConnectingPerAddress: number
  readonly maxFrameBytes: number
  /** The longest time without media. */
  readonly idleMs: number
}
