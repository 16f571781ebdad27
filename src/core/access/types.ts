import type { FeedRendition, HlsCodecs } from '../hls/feedRungs.ts'
import type { Address, AddressRule } from './address.ts'
import type { OriginRule } from './origin.ts'
import type { Protocol } from './protocols.ts'
import type { CompiledStreams } from './streamName.ts'

/**
 * What a client does with a stream. `preview`: a user of the account sees it in the dashboard. It counts neither as a viewer
 * nor for the bytes of anything.
 */
export type Action = 'publish' | 'view' | 'preview'

/**
 * All facts about one stored token that the decision needs, parsed and compiled once when the token is loaded.
 * It never contains the token's value: possession is proved before the decision, by hash or by signature.
 */
export interface TokenSnapshot {
  readonly id: number
  readonly kind: 'publish' | 'subscribe'
  readonly accountId: string
  /**
   * Grows with every change of the token. A binding is written only if the version is still the one of the
   * decision.
   */
  readonly version: number
  readonly isActive: boolean
  /** Epoch milliseconds; null when the token never expires. */
  readonly expiresAtMs: number | null
  readonly streams: CompiledStreams
  /** Empty: any origin, or none, is accepted. */
  readonly origins: readonly OriginRule[]
  /** Empty: any address is accepted. */
  readonly addresses: readonly AddressRule[]
  /** How many distinct addresses may use the token; 0 switches binding off. */
  readonly bindLimit: number
  /** Canonical text of the bound addresses, as last read. This node adds those that it binds. */
  readonly boundAddresses: Set<string>
  /** ISO 3166-1 alpha-2, upper case. At most one of the two lists is non-empty. */
  readonly allowedCountries: ReadonlySet<string>
  readonly deniedCountries: ReadonlySet<string>
  /** A token without country rules has those of its account. */
  readonly countrySource: 'token' | 'account'
  /** Of what the account says for its tokens, at the time of loading. */
  readonly accountVersion: number
  /** Publish tokens: the region whose nodes take its publishers; null: all nodes do. */
  readonly originRegion: string | null
  /** Publish tokens: the regions that media goes to, beside that of its publisher; null: all. */
  readonly mediaRegions: readonly string[] | null
  /** Publish tokens: viewers of the stream need a subscribe token. */
  readonly subscribeRequiresAuth: boolean
  /** Publish tokens: several sources may publish under one name. */
  readonly multisource: boolean
  /** Publish tokens: the rank of its publishers among those of one source; null: the lowest. */
  readonly priority: number | null
  /** Publish tokens: record the stream; take thumbnails of it. */
  readonly record: boolean
  readonly enableThumbnails: boolean
  /** Publish tokens: write the time of its arrival into each picture, where the protocol can. */
  readonly enableUTCInsertion: boolean
  /** Publish tokens: viewers who lack the codec of the video get H.264. */
  readonly transcode: boolean
  /** Publish tokens: what HLS has beside what the publisher sends. */
  readonly hlsRenditions: readonly FeedRendition[]
  /** Publish tokens: which codecs HLS has of what the publisher sends. */
  readonly hlsCodecs: HlsCodecs
  /** An update that no longer admits an active session ends it. */
  readonly endSessionsOnUpdate: boolean
  /** Sessions end when the token expires. */
  readonly endAtExpiry: boolean
  /** Subscribe tokens: the id under which bytes are counted. */
  readonly trackingId: string | null
  /** Concurrent viewers with a subscribe token, or of each stream of a publish token. 0: no limit. */
  readonly maxViewers: number
  /** Self-signed children issued before this time are refused; null when there was no such revocation. */
  readonly revokedBeforeMs: number | null
  /** `jti`s of individually revoked self-signed children. */
  readonly revokedJtis: ReadonlySet<string>
}

/** The validated and compiled `streaming` object and registered claims of a self-signed subscribe token. */
export interface SelfSignedClaims {
  readonly tokenId: number
  readonly streamName: string
  readonly origins: readonly OriginRule[]
  readonly addresses: readonly AddressRule[]
  readonly trackingId: string | null
  /** Concurrent viewers with its tracking id. 0: no limit. */
  readonly maxViewers: number
  /** Its sessions end at its `exp`, also if those of the parent go on. */
  readonly endAtExpiry: boolean
  readonly customViewerData: string | null
  readonly jti: string | null
  readonly issuedAtMs: number | null
  readonly notBeforeMs: number | null
  readonly expiresAtMs: number
}

/**
 * The presented credential after lookup.
 * - `none`: no token at all.
 * - `unknown`: text that is not one of our tokens; `why` says what was wrong, for the trace only.
 * - `token`: the hash of the text belongs to this token.
 * - `selfSigned`: a JWT whose signature was verified with the parent's value.
 * - `preview`: a pass of the dashboard for one stream, whose session is open.
 */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'token'; readonly token: TokenSnapshot }
  | { readonly kind: 'selfSigned'; readonly token: TokenSnapshot; readonly claims: SelfSignedClaims }
  | {
      readonly kind: 'preview'
      readonly accountId: string
      readonly streamName: string
      /** Of the dashboard. The preview ends with it. */
      readonly sessionValue: string
    }

/** One access request, independent of its protocol. Each edge only translates into this. */
export interface AccessRequest {
  readonly action: Action
  readonly protocol: Protocol
  /** The account named in the path. Null when publishing: there the token determines the account of the stream. */
  readonly accountId: string | null
  readonly streamName: string
  readonly credential: Credential
  readonly address: Address
  /** The `Origin` header as sent; null when there was none. */
  readonly origin: string | null
  /** ISO 3166-1 alpha-2 upper case, from the lookup; null when unknown. */
  readonly country: string | null
  /** Viewing only: whether this stream requires a subscribe token. Ignored when publishing. */
  readonly streamIsSecured: boolean
}

/** Operator settings of a node that change a rule. */
export interface AccessPolicy {
  /** `refuse`: RTMP refuses tokens with IP filters. `enforce`: RTMP checks them against the peer. */
  readonly rtmpIpFilters: 'refuse' | 'enforce'
  /** `server.region`; empty: none. */
  readonly region: string
}

/** All reasons of a refusal, in the order of the checks. */
export type RefusalCode =
  | 'token_missing'
  | 'invalid_token'
  | 'token_revoked'
  | 'token_disabled'
  | 'token_expired'
  | 'stream_name_not_allowed'
  | 'origin_not_allowed'
  | 'address_not_allowed'
  | 'country_not_allowed'
  | 'ip_filters_not_supported'
  | 'region_not_allowed'
  | 'stream_not_published'

export type CheckName =
  | 'token'
  | 'active'
  | 'expiry'
  | 'streamName'
  | 'origin'
  | 'address'
  | 'country'
  | 'rtmpIpFilters'
  | 'region'
  | 'binding'
  | 'viewers'
  | 'node'

export interface TraceStep {
  readonly check: CheckName
  readonly outcome: 'pass' | 'fail' | 'skip'
  /** One sentence for readers of the trace. It never contains a token value. */
  readonly detail: string
}

/** What must be written before the client learns that it is admitted. */
export interface DecisionEffects {
  /**
   * Binds this address to the token: a conditional write, see `BindingTx` of the store. Null when the address is already
   * bound or the token binds none.
   */
  readonly bind: {
    readonly tokenId: number
    readonly version: number
    readonly address: string
    readonly limit: number
  } | null
  /** A bound address was used again: record the time of use (best effort). */
  readonly stamp: { readonly tokenId: number; readonly address: string } | null
}

export type Decision =
  | {
      readonly allowed: true
      readonly accountId: string
      /** Null for an anonymous viewer of an open stream. */
      readonly tokenId: number | null
      readonly trackingId: string | null
      readonly effects: DecisionEffects
      readonly trace: readonly TraceStep[]
    }
  | {
      readonly allowed: false
      readonly code: RefusalCode
      /** The public text, exactly as it goes to the client. */
      readonly message: string
      readonly tokenId: number | null
      readonly trace: readonly TraceStep[]
    }

/** A decision, and the request that it was made on. */
export interface Evaluation {
  readonly request: AccessRequest
  readonly decision: Decision
}

/** The presented token, or the parent of a self-signed one; null: the client presented neither. */
export const tokenOf = (credential: Credential): TokenSnapshot | null =>
  credential.kind === 'token' || credential.kind === 'selfSigned' ? credential.token : null
