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

/** Broadcasts by stream, country and slot. @param nowMs the end of those on the air */
export function publishRows(
  feeds: readonly PublishedFeed[],
  { fromMs, untilMs, slotMs }: Slots,
  nowMs: number,
): UsageRow[] {
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
  }
  return [...sums.values()].map(({ row, publishes, publishMs }) => ({
    ...row,
    watched: { publishes, publishMs, views: 0, viewMs: 0 },
  }))
}

/** Views by stream, country and slot. */
export const viewRows = (slots: readonly AudienceSlot[]): UsageRow[] =>
  slots.flatMap(({ streamName, atMs, parts }) =>
    [...parts.country].map(([country, { views, watchMs: viewMs }]) => ({
      ...BLANK_ROW,
      slotMs: atMs,
      streamName,
      country,
      watched: { publishes: 0, publishMs: 0, views, viewMs },
    })),
  )
