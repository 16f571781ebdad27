import type { Protocol } from '../core/access/types.ts'
import type { FrameSource } from './frame.ts'

/** How a session is cut. Resolves after its last media byte. */
export type Cut = (reason: string) => Promise<void>

/** Somebody who is on, at this node. */
export interface LiveSession {
  readonly id: string
  readonly action: 'publish' | 'view'
  readonly protocol: Protocol
  readonly accountId: string
  readonly streamName: string
  readonly sourceId: string | null
  /** The token that admitted it; null for anonymous viewers of open streams. */
  readonly tokenId: number | null
  readonly jti: string | null
  readonly trackingId: string | null
  /** Canonical text. */
  readonly address: string
  readonly origin: string | null
  readonly country: string | null
  readonly startedAtMs: number
}

/** A feed on the air at this node: a publisher whose media has begun. */
export interface LiveFeed {
  readonly feedId: string
  readonly sessionId: string
  readonly accountId: string
  readonly streamName: string
  readonly sourceId: string | null
  readonly tokenId: number
  readonly secured: boolean
  readonly startedAtMs: number
  /** Its media, for HLS, recording and thumbnails. */
  readonly media: FrameSource
}
