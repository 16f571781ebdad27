import type { CodedSentence } from '../notices.ts'
import type { TargetPolicy } from '../restream/targets.ts'
import type { SlateFacts } from './slate.ts'

/** The resources of the channels API. Times are epoch milliseconds. */

/** The statuses of a channel and its engines, from the most advanced to the least. */
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

/** Nothing is running or about to run. A channel in any other status cannot be deleted. */
export const isIdle = (status: ActiveStatus): boolean => status === 'stopped' || status === 'error'

/** The status of a channel is that of its most advanced engine; without engines it is stopped. */
export function statusOf(engines: readonly ActiveStatus[]): ActiveStatus {
  return ACTIVE_STATUSES.find((status) => engines.includes(status)) ?? 'stopped'
}

export interface ChannelRules {
  name: string
  /** The caller's own ids; each is unique within the account. */
  externalIds: readonly string[]
  /** The channel stops after this long without a source; 0: never. */
  timeoutSeconds: number
}

export interface Channel extends ChannelRules {
  id: string
  accountId: string
  status: ActiveStatus
  /** What viewers see while there is no broadcast; null: nothing. */
  slate: SlateFacts | null
  createdAtMs: number
}

interface IngestFacts {
  readonly protocol: string
  readonly hasPassphrase: boolean
  /** What tells the audio tracks of a source apart: what it is, and the numbers that it may have. Null: a source has one. */
  readonly audioNumbers: { readonly what: string; readonly min: number; readonly max: number } | null
  /** Of the URLs that Sluice dials, each of which `core/pulls/source.ts` has with how it is dialled; empty: the source pushes. */
  readonly schemes: readonly string[]
}

/** Those that a transport stream has for media (ISO/IEC 13818-1 section 2.4.3.3). */
const PIDS = { what: 'PID in the transport stream', min: 16, max: 8190 } as const
const TRACK_IDS = { what: 'trackId of enhanced RTMP', min: 0, max: 255 } as const
const PLAIN = { hasPassphrase: false, audioNumbers: null } as const
const RTMP = { protocol: 'rtmp', hasPassphrase: false, audioNumbers: TRACK_IDS } as const
const SRT = { protocol: 'srt', hasPassphrase: true, audioNumbers: PIDS } as const

/** How a source can reach an engine in this version. */
export const INGEST_FACTS = {
  'rtmp-push': { ...RTMP, schemes: [] },
  'rtmp-pull': { ...RTMP, schemes: ['rtmp:', 'rtmps:'] },
  'srt-push': { ...SRT, schemes: [] },
  'srt-pull': { ...SRT, schemes: ['srt:'] },
  'rtsp-pull': { protocol: 'rtsp', ...PLAIN, schemes: ['rtsp:', 'rtsps:'] },
  'whep-pull': { protocol: 'whep', ...PLAIN, schemes: ['whep:', 'wheps:'] },
} as const satisfies Record<string, IngestFacts>

export type IngestType = keyof typeof INGEST_FACTS
export const INGEST_TYPES = Object.keys(INGEST_FACTS) as readonly IngestType[]
export const INGEST_PROTOCOLS = [...new Set(Object.values(INGEST_FACTS).map(({ protocol }) => protocol))] as const

/** True when Sluice provides an address and a key; false when it dials the source itself. */
export const isPush = (type: IngestType): boolean => INGEST_FACTS[type].schemes.length === 0

/** What the URLs of pulls begin with, such as `rtsp://`. */
export const PULL_SCHEMES = INGEST_TYPES.flatMap((type) => INGEST_FACTS[type].schemes.map((scheme) => `${scheme}//`))

/** The type of an ingest that pulls from this URL; null: there is none. */
export const pullTypeOf = (url: string): IngestType | null =>
  INGEST_TYPES.find((type) => INGEST_FACTS[type].schemes.some((scheme) => url.toLowerCase().startsWith(scheme))) ?? null

/** An audio track of a source, as players show it. */
export interface IngestAudio {
  /** Its number among those of the source, as `audioNumbers` says; null: the first one. */
  readonly pid: number | null
  /** A tag of RFC 5646. */
  readonly language: string
  readonly label: string
}

export interface Ingest {
  id: string
  accountId: string
  channelId: string
  name: string
  type: IngestType
  region: string
  /** The default comes first. Empty: the first audio track of the source, without a name. */
  audio: readonly IngestAudio[]
  createdAtMs: number
}

/** Another server that gets what an engine makes. Its key is apart from it. */
export interface EngineTarget {
  /** Unique within its engine. */
  readonly id: string
  /** Without secrets. */
  readonly url: string
  /** The end of its key; empty: its secrets are in the URL. */
  readonly shownKey: string
  readonly label: string
  /** false: nothing is sent to it. */
  readonly enabled: boolean
}

export interface Engine {
  id: string
  accountId: string
  channelId: string
  /** The source of its media; null: it has none yet and cannot be started. */
  ingestId: string | null
  name: string
  region: string
  abrLadderId: string
  /** -100 to 100. Of several engines, the playing one with the lowest number serves new viewers. */
  priority: number
  /** What it makes is sent on to these. */
  restream: readonly EngineTarget[]
  /** Their keys, in their order: a sealed list in JSON. Null: there are none. */
  targetKeysSealed: Uint8Array | null
  status: ActiveStatus
  /** Why it is in `error`, what it waits for, or why it leaves something out; for people. */
  statusMessage: EngineMessage | null
  createdAtMs: number
  updatedAtMs: number
}

/** What an engine says of its status. */
export interface EngineMessage {
  readonly text: string
  /** The same as data; empty: it has no codes. */
  readonly sentences: readonly CodedSentence[]
}

export interface Rendition {
  /** Unique within its ladder; names the rendition in playlists. */
  id: string
  label: string
  width: number
  height: number
  /** Bits per second. */
  bitrate: number
  /** `value / scale` frames per second; null: the rate of the source. */
  frameRate: { value: number; scale: number } | null
  /** The video of the source passes unchanged, where it can. Only of the first rendition of a ladder. */
  copy?: true
}

/** The renditions that an engine makes of its source. */
export interface AbrLadder {
  id: string
  accountId: string
  name: string
  /** At least one. */
  video: readonly Rendition[]
  /** Kilobits per second of AAC; null: no audio. */
  audioKbps: number | null
  /** The audio alone is a rendition, too. Only with audio. */
  audioOnly: boolean
  createdAtMs: number
  updatedAtMs: number
}

/** Countries and networks: an allow list or a deny list. */
interface ListRule {
  enabled: boolean
  mode: 'allow' | 'deny'
}

export interface DistributionSecurity {
  geoBlocking: ListRule & { countries: readonly string[] }
  ipBlocking: ListRule & { cidrs: readonly string[] }
  refererBlocking: { enabled: boolean; allowedDomains: readonly string[]; allowNativeApps: boolean }
  /** As the client sent it. While there are keys, segment URLs are signed regardless. */
  rewriteSegmentUrls: boolean
}

export interface DistributionRules {
  name: string
  externalId: string | null
  enabled: boolean
  /** How many seconds behind the live edge HLS players are asked to stay. */
  hlsLatencySeconds: number
  hls: boolean
  /** Playlists list parts, for low latency. */
  llHls: boolean
  /** Bits per second; renditions above it are left out of the playlist. Null: no limit. */
  maxBitrate: number | null
  /** The engines that feed it, all from its channel. */
  engineIds: readonly string[]
  security: DistributionSecurity
  /**
   * A request deleted its last key alone, without opening the distribution: until there is a new key, no viewer
   * may watch.
   */
  closedWithoutKey: boolean
}

export interface Distribution extends DistributionRules {
  id: string
  accountId: string
  channelId: string
  createdAtMs: number
  updatedAtMs: number
}

/** Operator settings for channels. */
export interface ChannelSettings {
  readonly regions: readonly string[]
  /** Where publishers push to, such as `rtmp://live.example.com:1935/live`. */
  readonly rtmpUrl: string
  /** The same over SRT, such as `srt://live.example.com:10000`. */
  readonly srtUrl: string
  /** Which sources, and which targets of engines, may be dialled. */
  readonly sources: TargetPolicy
  /** Why a text is not a key for viewer tokens, as a predicate after the field name; null: it is one. */
  readonly refuseKey: (text: string) => string | null
  /** The claim of viewer tokens that holds their restrictions. */
  readonly viewerClaim: string
}

/** The most ingests, engines and distributions of one channel, each. */
export const CHILDREN_MAX = 1000
/** The most viewer-token keys of one distribution. */
export const KEYS_MAX = 2
