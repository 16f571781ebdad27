import type { ClientFamilies } from '../audience/families.ts'
import type { Protocol } from '../access/protocols.ts'
import type { Action } from '../access/types.ts'

/** One connection of an admitted publisher or viewer. */
export interface Session {
  /** 22 characters that sort by the time of admission. */
  readonly id: string
  readonly action: Action
  readonly protocol: Protocol
  readonly accountId: string
  readonly streamName: string
  /** Distinguishes several publishers of one stream name; null: the default source. */
  readonly sourceId: string | null
  /** Of a source that several publishers send: the name of the layer that this one sends; null: it sends a source by itself. */
  readonly layer: string | null
  /**
   * The token that admitted the session, for a self-signed token its parent; null for anonymous viewers of open
   * streams.
   */
  readonly tokenId: number | null
  /** The `jti` of the self-signed token, if it has one. */
  readonly jti: string | null
  readonly trackingId: string | null
  /** Canonical text. */
  readonly address: string
  readonly origin: string | null
  readonly country: string | null
  /** The program of a viewer; null or absent: it did not identify itself. */
  readonly client?: ClientFamilies | null
  /** What the signer of a self-signed token says of its viewer; null or absent: nothing. */
  readonly customViewerData?: string | null
  readonly startedAtMs: number
}

/** The facts about a publisher's active feed, without its media. */
export interface FeedFacts {
  /** A UUID. */
  readonly feedId: string
  readonly sessionId: string
  readonly accountId: string
  readonly streamName: string
  readonly sourceId: string | null
  /** As of its session. */
  readonly layer: string | null
  readonly tokenId: number
  /** Viewers need a subscribe token. Copied from the publish token when the feed began. */
  readonly secured: boolean
  /** The regions whose nodes may show it; null: all. From the token too. */
  readonly regions: readonly string[] | null
  readonly startedAtMs: number
}

/** Bytes of a session since it began: received from it, and written to its socket. */
export interface Bytes {
  readonly bytesIn: number
  readonly bytesOut: number
}

/** What bytes of a session count for in the hourly sums. */
export type UsageKey = Pick<Session, 'accountId' | 'streamName' | 'protocol' | 'tokenId' | 'trackingId' | 'country'>

/** What a node counted for one key in one hour. Bytes are totals, so that writing it again changes nothing. */
export interface NodeUsage extends UsageKey, Bytes {
  /** Unique at the node. */
  readonly ord: number
  readonly hourMs: number
}

/** Sessions of a stream, of a token, or without both of the whole account. */
export interface SessionScope {
  readonly accountId: string
  readonly streamName?: string
  readonly tokenId?: number
}
