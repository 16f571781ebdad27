import { err, ok, type Result } from '../../base/result.ts'
import { HOUR_MS, DAY_MS, isoTime } from '../../base/time.ts'
import { parseInstant } from '../access/logQuery.ts'
import type { FieldErrors } from '../errors.ts'
import { type ParameterReader, readFilters } from '../pages/listQuery.ts'
import { readFlag } from '../pages/parameters.ts'
import type { FeedReading } from './reading.ts'

/** A feed has a point in each slot. */
export const HISTORY_SLOT_MS = 10_000
/** How long points are kept, and the most that one query covers. */
export const HISTORY_MS = DAY_MS
/** Of one source in an answer. Of a longer time than an hour, a point is of several slots. */
const POINTS_MAX = HOUR_MS / HISTORY_SLOT_MS

/** Kept of a feed for each slot. Null: not known, or not part of the broadcast. */
export interface HealthFigures
  extends Pick<FeedReading, 'bitrateIn' | 'frameRate' | 'width' | 'height' | 'videoCodec' | 'audioCodec'> {
  readonly keyframeMs: number | null
  /** Shares, from 0 to 1. */
  readonly packetLoss: number | null
  readonly bFrames: number | null
  readonly roundTripMs: number | null
}

/** The figures of a feed in the slot that begins at `atMs`, epoch milliseconds. */
export interface FeedPoint extends HealthFigures {
  readonly feedId: string
  readonly sourceId: string | null
  readonly atMs: number
}

/** The part of a reading that is kept; null: nothing is measured yet. */
export function figuresOf(reading: FeedReading): HealthFigures | null {
  const { bitrateIn, frameRate, width, height, videoCodec, audioCodec, source } = reading
  const { keyframeMs = null, packetLoss = null, bFrames = null, roundTripMs = null } = source
  if (bitrateIn === null) return null
  return {
    bitrateIn,
    frameRate,
    width,
    height,
    videoCodec,
    audioCodec,
    keyframeMs,
    packetLoss,
    bFrames,
    roundTripMs,
  }
}

/** Half open, epoch milliseconds. */
export interface HistorySpan {
  readonly fromMs: number
  readonly untilMs: number
  readonly slotMs: number
}

interface HistoryFilter {
  history: boolean
  fromMs: number
  untilMs: number
}

const READERS: Readonly<Record<string, ParameterReader<HistoryFilter>>> = {
  history: (text) => {
    const read = readFlag(text)
    return read.ok ? ok({ history: read.value }) : read
  },
  from: (text) => parseInstant(text, (fromMs) => ({ fromMs })),
  until: (text) => parseInstant(text, (untilMs) => ({ untilMs })),
}

/** Parses the query of `GET /api/streams/{name}/health`: by default the last hour. Null: no history. */
export function readHistoryQuery(
  query: Record<string, unknown>,
  nowMs: number,
): Result<HistorySpan | null, FieldErrors> {
  const read = readFilters(query, READERS)
  if (!read.ok) return read
  const { history = true, untilMs = nowMs + 1, fromMs = untilMs - HOUR_MS } = read.value
  if (fromMs > untilMs) return err({ from: ['must not be after until'] })
  if (untilMs - fromMs > HISTORY_MS + 1) return err({ from: ['must be at most 24 hours before until'] })
  return ok(history ? { fromMs, untilMs, slotMs: slotOf(untilMs - fromMs) } : null)
}

const slotOf = (spanMs: number): number =>
  Math.max(1, Math.ceil((spanMs - 1) / POINTS_MAX / HISTORY_SLOT_MS)) * HISTORY_SLOT_MS

/** The figures that the interface shows of each point. */
export const HISTORY_FIGURES = {
  bitrateIn: 'Bits per second.',
  frameRate: 'Frames per second that came.',
  keyframeMs: 'The longest time between two keyframes.',
  packetLoss: 'Share of packets, from 0 to 1, that did not come at first. WHIP, SRT and RTSP.',
  roundTripMs: 'To the publisher and back. WHIP and SRT.',
} as const satisfies Partial<Record<keyof HealthFigures, string>>

/** A point as the interface shows it. What is not known is absent. */
export type HealthPoint = { readonly at: string } & {
  readonly [F in keyof typeof HISTORY_FIGURES]?: number
}

/** The points of one source, over all of its publishers in turn. */
export interface SourceHistory {
  readonly sourceId?: string
  /** The oldest first. */
  readonly points: readonly HealthPoint[]
}

/** @param points the oldest first; of two in one slot, the later publisher's counts */
export function historiesOf(points: readonly FeedPoint[]): SourceHistory[] {
  const sources = Map.groupBy(points, ({ sourceId }) => sourceId ?? '')
  return [...sources]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([sourceId, own]) => ({
      ...(sourceId === '' ? {} : { sourceId }),
      points: [...new Map(own.map((point) => [point.atMs, shownPoint(point)])).values()],
    }))
}

function shownPoint(point: FeedPoint): HealthPoint {
  const names = Object.keys(HISTORY_FIGURES) as (keyof typeof HISTORY_FIGURES)[]
  const known = names.filter((name) => point[name] !== null).map((name) => [name, point[name]])
  return { at: isoTime(point.atMs), ...Object.fromEntries(known) }
}
