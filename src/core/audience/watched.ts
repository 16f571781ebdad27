import { BLANK_ROW, type UsageRow } from '../usage/report.ts'
import { type AudienceSlot, entryOf } from './slots.ts'

/** A broadcast, and where its publisher was. */
export interface PublishedFeed {
  readonly streamName: string
  /** Empty: unknown. */
  readonly country: string
  readonly startedAtMs: number
  /** Null: it is on the air. */
  readonly endedAtMs: number | null
}

/** The slots of a report. */
interface Slots {
  readonly fromMs: number
  readonly untilMs: number
  /** The length of each. */
  readonly slotMs: number
}

/** Broadcasts by stream, country and slot. May pause after each. @param nowMs the end of those on the air */
export function* publishRows(
  feeds: readonly PublishedFeed[],
  { fromMs, untilMs, slotMs }: Slots,
  nowMs: number,
): Generator<void, UsageRow[]> {
  const sums = new Map<string, { readonly row: UsageRow; publishes: number; publishMs: number }>()
  for (const { streamName, country, startedAtMs, endedAtMs } of feeds) {
    const beginMs = Math.max(startedAtMs, fromMs)
    const endMs = Math.min(endedAtMs ?? nowMs, untilMs)
    const sumAt = (atMs: number) =>
      entryOf(sums, `${atMs}/${country}/${streamName}`, () => ({
        row: { ...BLANK_ROW, slotMs: atMs, country, streamName },
        publishes: 0,
        publishMs: 0,
      }))
    const firstMs = beginMs - ((beginMs - fromMs) % slotMs)
    if (startedAtMs >= fromMs) sumAt(firstMs).publishes += 1
    for (let atMs = firstMs; atMs < endMs; atMs += slotMs)
      sumAt(atMs).publishMs += Math.min(endMs, atMs + slotMs) - Math.max(beginMs, atMs)
    yield
  }
  return [...sums.values()].map(({ row, publishes, publishMs }) => ({
    ...row,
    watched: { publishes, publishMs, views: 0, viewMs: 0 },
  }))
}

/** The views of a country in a slot. */
export interface CountryViews {
  readonly streamName: string
  readonly atMs: number
  /** Empty: unknown. */
  readonly country: string
  readonly views: number
  readonly watchMs: number
}

export const countriesOf = ({ streamName, atMs, parts }: AudienceSlot): CountryViews[] =>
  [...parts.country].map(([country, { views, watchMs }]) => ({ streamName, atMs, country, views, watchMs }))

export const viewRow = ({ streamName, atMs, country, views, watchMs: viewMs }: CountryViews): UsageRow => ({
  ...BLANK_ROW,
  slotMs: atMs,
  streamName,
  country,
  watched: { publishes: 0, publishMs: 0, views, viewMs },
})
