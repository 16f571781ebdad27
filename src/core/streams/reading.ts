import { isObject } from '../../base/objects.ts'
import { PROTOCOLS_OF, type ViewProtocol } from '../access/protocols.ts'
import type { Said } from '../notices.ts'
import { type TargetStatus, TARGET_STATUSES } from '../restream/state.ts'
import { type Found, isFindingCode } from './findings.ts'
import { STREAM_HEALTH, type StreamHealth } from './health.ts'
import { readStoredSource, type SourceReading } from './source.ts'

/** A target of a feed, as the node of the feed sees it. */
export interface TargetReading {
  /** Its place in the list of the token, from 0. */
  readonly index: number
  readonly label: string
  readonly url: string
  readonly status: TargetStatus
  /** Since when it has this status, epoch milliseconds. */
  readonly sinceMs: number
  /** When it is dialled again, epoch milliseconds; null: it is not. */
  readonly retryAtMs: number | null
  /** What is wrong; null: nothing. */
  readonly problem: Said | null
  /** Bits per second, over the last seconds; null: not known, or it is not live. */
  readonly bitrateOut: number | null
  /** How long it has taken media since the feed began. */
  readonly liveSeconds: number
  /** The latest problem, also if it is over; `atMs`: epoch milliseconds. Null: there was none. */
  readonly lastProblem: (Said & { readonly atMs: number }) | null
}

/** What the node of a feed measures of it. Null: not known, or not part of the broadcast. */
export interface FeedReading {
  readonly videoCodec: string | null
  readonly audioCodec: string | null
  /** Pixels. */
  readonly width: number | null
  readonly height: number | null
  /** Frames per second, over the last seconds. */
  readonly frameRate: number | null
  /** Bits per second, over the last seconds. */
  readonly bitrateIn: number | null
  /** The lowest and highest average of ten seconds in the last five minutes. */
  readonly bitrateLowest: number | null
  readonly bitrateHighest: number | null
  readonly health: StreamHealth
  readonly source: SourceReading
  /** What is wrong with its media, the worst first. */
  readonly findings: readonly Found[]
  /** Absent: the feed has none. */
  readonly targets?: readonly TargetReading[]
}

/** The viewers of a stream by protocol, at one node or at several. */
export interface StreamViewing extends Readonly<Record<ViewProtocol, number>> {
  /** Bits per second to them, over the last seconds. */
  readonly bitrateOut: number
}

export const viewersOf = (viewing: Readonly<Record<ViewProtocol, number>>): number =>
  PROTOCOLS_OF.view.reduce((sum, protocol) => sum + viewing[protocol], 0)

export const sumOfViewing = (a: StreamViewing, b: StreamViewing): StreamViewing => ({
  whep: a.whep + b.whep,
  hls: a.hls + b.hls,
  bitrateOut: a.bitrateOut + b.bitrateOut,
})

/** A reading as a node stored it, perhaps one of another version: what is missing is not known. Null: no reading. */
export function readStoredReading(text: string | null): FeedReading | null {
  const part: unknown = text === null ? null : JSON.parse(text)
  if (!isObject(part)) return null
  const words = (name: string): string | null => (typeof part[name] === 'string' ? part[name] : null)
  const figure = (name: string): number | null => (typeof part[name] === 'number' ? part[name] : null)
  return {
    videoCodec: words('videoCodec'),
    audioCodec: words('audioCodec'),
    width: figure('width'),
    height: figure('height'),
    frameRate: figure('frameRate'),
    bitrateIn: figure('bitrateIn'),
    bitrateLowest: figure('bitrateLowest'),
    bitrateHighest: figure('bitrateHighest'),
    health: STREAM_HEALTH.find((health) => health === part['health']) ?? 'steady',
    source: readStoredSource(part['source']),
    findings: Array.isArray(part['findings']) ? part['findings'].filter(isFound) : [],
    ...(Array.isArray(part['targets']) ? { targets: part['targets'].filter(isTargetReading) } : {}),
  }
}

/** One of a later version is left out. */
function isFound(stored: unknown): stored is Found {
  if (!isObject(stored)) return false
  const { code, value, sinceMs } = stored
  return isFindingCode(code) && typeof value === 'number' && typeof sinceMs === 'number'
}

/** One with a status of a later version is left out. */
function isTargetReading(stored: unknown): stored is TargetReading {
  const statuses: readonly unknown[] = TARGET_STATUSES
  return isObject(stored) && statuses.includes(stored['status'])
}
