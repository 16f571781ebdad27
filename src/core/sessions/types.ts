import type { Action, Protocol } from '../access/types.ts'

/** One connection of a publisher or of a viewer that was admitted. */
export interface Session {
  /** 22 characters that sort by the time of admission. */
  readonly id: string
  readonly action: Action
  readonly protocol: Protocol
  readonly accountId: string
  readonly streamName: string
  /** Keeps several publishers of one name apart; null: the source without a name. */
  readonly sourceId: string | null
  /** The token that admitted it, the parent of a self-signed one; null for anonymous viewers of open streams. */
  readonly tokenId: number | null
  /** Of the self-signed token, when it has one. */
  readonly jti: string | null
  readonly trackingId: string | null
  /** Canonical text. */
  readonly address: string
  readonly origin: string | null
  readonly country: string | null
  readonly startedAtMs: number
}

/** A publisher's media on the air, without the media itself. */
export interface FeedFacts {
  /** A UUID. */
  readonly feedId: string
  readonly sessionId: string
  readonly accountId: string
  readonly streamName: string
  readonly sourceId: string | null
  readonly tokenId: number
  /** Viewers need a subscribe token. Taken from the publish token when the feed began. */
  readonly secured: boolean
  readonly startedAtMs: number
}

/** Bytes that a session has moved since it began: received from it, and handed to its socket. */
export interface Bytes {
  readonly bytesIn: number
  readonly bytesOut: number
}
