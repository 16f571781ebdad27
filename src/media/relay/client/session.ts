import type { Result } from '../../../base/result.ts'
import type { RtcClientOptions } from './rtcClient.ts'

/** A session at another server, which our offer has opened. */
export interface OpenedSession {
  /** The answer, SDP. */
  readonly answer: string
  /** Deletes it there, best effort. */
  leave(): void
}

/** What a session at another server needs. `P`: why it was not opened. */
export interface SessionOptions<P> extends Omit<RtcClientOptions, 'now' | 'pace' | 'failed'> {
  /** Opens it there, with this offer. */
  readonly openSession: (offer: string) => Promise<Result<OpenedSession, P>>
}
