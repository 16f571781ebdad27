import {
  addQuality,
  noQuality,
  type PackedQuality,
  packQuality,
  type Quality,
  unpackQuality,
} from '../quality/figures.ts'
import { beginOf, type SlotLength } from '../zonedSlots.ts'
import { Sketch } from './sketch.ts'

/** What the figures of a stream are divided by. */
export const AUDIENCE_DIMENSIONS = ['protocol', 'country', 'site', 'device', 'browser'] as const
export type AudienceDimension = (typeof AUDIENCE_DIMENSIONS)[number]

/** An audience in some time. */
export interface Figures {
  /** That began in this time. */
  views: number
  watchMs: number
  /** The most views at one moment. */
  most: number
  readonly viewers: Sketch
  /** What players reported; null: none did. */
  quality: Quality | null
}

/** By the value of a dimension; empty: unknown. */
type Parts = Record<AudienceDimension, Map<string, Figures>>

/** The audience of one stream in some time. */
export interface AudienceSlot {
  readonly accountId: string
  /** Empty: all streams of the account. */
  readonly streamName: string
  readonly length: SlotLength
  /** Its beginning. */
  readonly atMs: number
  readonly all: Figures
  readonly parts: Parts
}

/** The same as the store has it. */
export interface AudienceRow {
  readonly accountId: string
  readonly streamName: string
  readonly length: SlotLength
  readonly atMs: number
  readonly views: number
  readonly watchMs: number
  readonly most: number
  /** The sketch as text. */
  readonly viewers: string
  /** JSON; empty: no player reported. */
  readonly quality: string
  /** JSON; empty where it was not read. */
  readonly parts: string
}

export const noFigures = (): Figures => ({ views: 0, watchMs: 0, most: 0, viewers: new Sketch(), quality: null })

export const noParts = (): Parts => ({
  protocol: new Map(),
  country: new Map(),
  site: new Map(),
  device: new Map(),
  browser: new Map(),
})

/** The entry of a key, which is made if it is missing. */
export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}

/** Adds the figures of another time. The most of both is the larger one, because the times do not overlap. */
export function addFigures(to: Figures, { views, watchMs, most, viewers, quality }: Figures): void {
  to.views += views
  to.watchMs += watchMs
  to.most = Math.max(to.most, most)
  to.viewers.merge(viewers)
  addReported(to, quality)
}

/** Adds what players reported. */
export function addReported(to: Figures, quality: Quality | null): void {
  if (quality === null) return
  to.quality ??= noQuality()
  addQuality(to.quality, quality)
}

function addParts(to: Parts, from: Parts): void {
  for (const dimension of AUDIENCE_DIMENSIONS)
    for (const [value, figures] of from[dimension]) addFigures(entryOf(to[dimension], value, noFigures), figures)
}

type Packed = [views: number, watchMs: number, most: number, viewers: string, quality?: PackedQuality]

export function toRow({ all, parts, ...slot }: AudienceSlot): AudienceRow {
  const packed = AUDIENCE_DIMENSIONS.map((dimension) =>
    [...parts[dimension]].map(([value, figures]): [string, ...Packed] => [value, ...pack(figures)]),
  )
  const [views, watchMs, most, viewers, quality] = pack(all)
  return {
    ...slot,
    views,
    watchMs,
    most,
    viewers,
    quality: quality === undefined ? '' : JSON.stringify(quality),
    parts: JSON.stringify(packed),
  }
}

const pack = ({ views, watchMs, most, viewers, quality }: Figures): Packed => [
  views,
  watchMs,
  most,
  viewers.toText(),
  ...(quality === null ? ([] as const) : ([packQuality(quality)] as const)),
]

/** @param only the parts to read: most reports need none or one, and there may be thousands of rows */
export function fromRow(
  { views, watchMs, most, viewers, quality, parts: text, ...slot }: AudienceRow,
  only: readonly AudienceDimension[] = AUDIENCE_DIMENSIONS,
): AudienceSlot {
  const all = unpack([views, watchMs, most, viewers])
  if (quality !== '') all.quality = unpackQuality(JSON.parse(quality) as PackedQuality)
  return { ...slot, all, parts: text === '' ? NOTHING : partsOf(text, only) }
}

const NOTHING: Parts = noParts()

function partsOf(text: string, only: readonly AudienceDimension[]): Parts {
  const parts = noParts()
  const packed = JSON.parse(text) as readonly (readonly [string, ...Packed])[][]
  for (const dimension of only)
    for (const [value, ...figures] of packed[AUDIENCE_DIMENSIONS.indexOf(dimension)] ?? [])
      parts[dimension].set(value, unpack(figures))
  return parts
}

const unpack = ([views, watchMs, most, viewers, quality]: Packed): Figures => ({
  views,
  watchMs,
  most,
  viewers: Sketch.of(viewers),
  quality: quality === undefined ? null : unpackQuality(quality),
})

/** Sums of slots by day or month. Each must be whole. */
export function toLonger(slots: readonly AudienceSlot[], length: SlotLength): AudienceSlot[] {
  const sums = new Map<string, AudienceSlot>()
  for (const { accountId, streamName, atMs, all, parts } of slots) {
    const beginMs = beginOf(length, atMs)
    const sum = entryOf(sums, JSON.stringify([accountId, streamName, beginMs]), () => ({
      accountId,
      streamName,
      atMs: beginMs,
      length,
      all: noFigures(),
      parts: noParts(),
    }))
    addFigures(sum.all, all)
    addParts(sum.parts, parts)
  }
  return [...sums.values()]
}
