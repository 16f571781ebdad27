import { DAY_MS } from '../../base/time.ts'
import { RULE_LIMITS } from '../access/claims.ts'
import type { StreamEntry } from '../access/streamName.ts'
import type { TokenSnapshot } from '../access/types.ts'
import type { FeedRendition, HlsCodecs } from '../hls/feedRungs.ts'
import type { TokenFlag } from './flags.ts'

/** `publish` or `subscribe`. */
export type TokenKind = TokenSnapshot['kind']

/** Another server that gets the media of a publish token. */
export interface RestreamTarget {
  readonly url: string
  readonly label: string
  readonly enabled: boolean
  /** Video that the target's protocol does not carry is encoded again. */
  readonly transcode: boolean
  /** The end of its key, as records show it. */
  readonly shownKey: string
}

/** The keys of the targets, in their order. `kept`: the place of the target that had it before the update. */
export type TargetKeys = readonly ({ readonly key: string } | { readonly kept: number })[]

/** The part of a token that creates and updates set. All lists are in canonical form. */
export interface TokenRules extends Record<TokenFlag, boolean> {
  label: string
  streams: StreamEntry[]
  isActive: boolean
  allowedOrigins: string[]
  allowedIpAddresses: string[]
  /** Number of distinct addresses to accept; 0 is off. */
  bindIpsOnUsage: number
  allowedCountries: string[]
  deniedCountries: string[]
  /**
   * Publish tokens only: the region whose nodes take its publishers; `auto`: all nodes do; empty: as the account says. Empty on
   * subscribe tokens.
   */
  originCluster: string
  /** Publish tokens only: the regions that media goes to, beside that of its publisher, or `all`; null: as the account says. */
  geoCascade: readonly string[] | null
  /** Publish tokens only, and the next two. */
  priority: number | null
  /** Of HLS, beside what the publisher sends; the largest first. */
  hlsRenditions: readonly FeedRendition[]
  /** Of what the publisher sends; `h264` on subscribe tokens. */
  hlsCodecs: HlsCodecs
  /** Publish tokens only. Their keys are stored beside the token. */
  restream: readonly RestreamTarget[]
  /** Subscribe tokens only. */
  trackingId: string | null
  /** Concurrent viewers, at all nodes: of a subscribe token, or of each stream of a publish token. 0: no limit. */
  maxViewers: number
  /** Publish tokens only: how long recordings are kept after they are complete, days. 0: they stay; null: as the account says. */
  recordingDays: number | null
}

/** A stored token without its value. Times are epoch milliseconds. */
export interface Token extends TokenRules {
  id: number
  kind: TokenKind
  accountId: string
  addedAtMs: number
  expiresAtMs: number | null
  /** 1 at creation; grows with every change. */
  version: number
  /** Self-signed children issued before this time are refused. */
  revokedBeforeMs: number | null
  /** When it last admitted a client. Absent: never. */
  lastUsedAtMs?: number | undefined
}

/** What tokens a list shows. A token that expires soon may be live as well; the others exclude each other. */
export const TOKEN_STATES = ['live', 'ready', 'expiring', 'off', 'expired'] as const
export type TokenState = (typeof TOKEN_STATES)[number]

/** A token that expires within this time is in the state `expiring`. */
export const EXPIRING_MS = 7 * DAY_MS

/** Bounds of the token API. A value outside gets a 400 that names the bound. */
export const TOKEN_LIMITS = {
  ...RULE_LIMITS,
  labelMax: 128,
  streamNameMax: 128,
  streamsMax: 1000,
  countriesMax: 250,
  expiresMaxSeconds: 2_147_483_647,
  bindMax: 2_147_483_647,
  /** The longest that tokens and accounts have recordings kept by days. */
  recordingDaysMax: 365,
  /** Revoked `jti`s stored per token; past that, revoke by `issuedBefore`. */
  revokedJtisMax: 10_000,
} as const

/** A target in a body. `key` is that of the target, or what a record shows of it. */
export interface NewTarget extends Omit<RestreamTarget, 'shownKey'> {
  readonly key: string
}

/** The content of an update, before it is merged into the stored token. Only the named fields change. */
export interface TokenPatch {
  set: Partial<Omit<TokenRules, 'streams' | 'trackingId' | 'restream'>>
  /** The whole new list; undefined: it stays. */
  restream: readonly NewTarget[] | undefined
  /** In the order of the body; names are distinct. */
  addStreams: StreamEntry[]
  /** In the order of the body; names are distinct. Removed before `addStreams` are added. */
  removeStreams: string[]
  /** Replace the token's value. */
  refreshToken: boolean
}
