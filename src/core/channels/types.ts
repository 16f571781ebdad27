/** What the live management interface manages. Times are epoch milliseconds. */

/** How far a channel or one of its engines is; from the most advanced to the least. */
export const ACTIVE_STATUSES = [
  'playing',
  'ingesting',
  'waiting',
  'starting',
  'deploying',
  'stopping',
  'error',
  'stopped',
] as const
export type ActiveStatus = (typeof ACTIVE_STATUSES)[number]

/** Nothing runs and nothing is about to. Everything else keeps a channel from being deleted. */
export const isIdle = (status: ActiveStatus): boolean => status === 'stopped' || status === 'error'

/** A channel is as far as the most advanced of its engines; one without engines is stopped. */
export function statusOf(engines: readonly ActiveStatus[]): ActiveStatus {
  return ACTIVE_STATUSES.find((status) => engines.includes(status)) ?? 'stopped'
}

export interface ChannelRules {
  name: string
  /** The caller's own ids; each is unique within the account. */
  externalIds: readonly string[]
  /** After this long without a source the channel is stopped; 0: never. */
  timeoutSeconds: number
}

export interface Channel extends ChannelRules {
  id: string
  accountId: string
  status: ActiveStatus
  createdAtMs: number
}

/** Ways in which a source can reach an engine that this version serves. */
export const INGEST_TYPES = ['rtmp-push', 'rtmp-pull', 'srt-pull'] as const
export type IngestType = (typeof INGEST_TYPES)[number]

/** True when Sluice hands out an address and a key; false when it dials the source itself. */
export const isPush = (type: IngestType): boolean => type === 'rtmp-push'

export interface Ingest {
  id: string
  accountId: string
  channelId: string
  name: string
  type: IngestType
  region: string
  createdAtMs: number
}

export interface Engine {
  id: string
  accountId: string
  channelId: string
  /** Where its media comes from; null: nowhere yet, so it cannot be started. */
  ingestId: string | null
  name: string
  region: string
  abrLadderId: string
  /** -100 to 100; of several engines the one with the lowest number that plays serves new viewers. */
  priority: number
  status: ActiveStatus
  /** Why it is in `error`, what it waits for, or why it does not do all that it should; for people. */
  statusMessage: string | null
  createdAtMs: number
  updatedAtMs: number
}

export interface Rendition {
  /** Unique within its ladder; names the rendition in playlists. */
  id: string
  label: string
  width: number
  height: number
  /** Bits a second. */
  bitrate: number
  /** `value / scale` frames a second; null: those of the source. */
  frameRate: { value: number; scale: number } | null
}

/** The renditions that an engine makes of its source. */
export interface AbrLadder {
  id: string
  accountId: string
  name: string
  /** At least one. */
  video: readonly Rendition[]
  /** Kilobits a second of AAC; null: no sound. */
  audioKbps: number | null
  createdAtMs: number
  updatedAtMs: number
}

/** Countries and networks: either only these, or all but these. */
interface ListRule {
  enabled: boolean
  mode: 'allow' | 'deny'
}

export interface DistributionSecurity {
  geoBlocking: ListRule & { countries: readonly string[] }
  ipBlocking: ListRule & { cidrs: readonly string[] }
  refererBlocking: { enabled: boolean; allowedDomains: readonly string[]; allowNativeApps: boolean }
  /** As the client sent it. Addresses of segments are signed while there are keys, whatever this says. */
  rewriteSegmentUrls: boolean
}

export interface DistributionRules {
  name: string
  externalId: string | null
  enabled: boolean
  /** How far behind the live edge HLS players are asked to stay, in seconds. */
  hlsLatencySeconds: number
  hls: boolean
  /** Bits a second; renditions above are left out of the playlist. Null: all are there. */
  maxBitrate: number | null
  /** The engines that feed it, all of its channel. */
  engineIds: readonly string[]
  security: DistributionSecurity
  /** Its last key was deleted by itself: until it has another one, nobody may watch. */
  closedWithoutKey: boolean
}

export interface Distribution extends DistributionRules {
  id: string
  accountId: string
  channelId: string
  createdAtMs: number
  updatedAtMs: number
}

/** What the operator has decided about live channels. */
export interface ChannelSettings {
  readonly regions: readonly string[]
  /** Where encoders push to, such as `rtmp://live.example.com:1935/live`. */
  readonly rtmpUrl: string
  /** Whether sources may be dialled that are not on the public internet. */
  readonly allowPrivateSources: boolean
  /** Why a text is no key for viewers' tokens, ready to follow the name of the field; null: it is one. */
  readonly refuseKey: (text: string) => string | null
}

/** The most ingests, engines and distributions that one channel may have of each. */
export const CHILDREN_MAX = 1000
/** The most viewer-token keys of one distribution. */
export const KEYS_MAX = 2
