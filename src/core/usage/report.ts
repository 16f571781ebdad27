import { lazyList, lazyObject, lazyValue } from '../../base/objects.ts'
import { isoSecond } from '../../base/time.ts'
import type { Bytes } from '../sessions/types.ts'
import { slotIn } from '../zonedSlots.ts'
import type { UsageQuestion } from './query.ts'

/** A sum of usage. A dimension that it was not grouped by is empty. */
export interface UsageRow extends Bytes {
  /** The start of an hour or of a day. */
  readonly slotMs: number
  readonly streamName: string
  /** Empty: without a tracking id. */
  readonly trackingId: string
  /** Empty: unknown. */
  readonly country: string
  /** Absent unless it was grouped by it. */
  readonly protocol?: string
  /** Absent unless it was grouped by it; 0: viewers without a token. */
  readonly tokenId?: number
  /** The part of `bytesOut` that caches sent. */
  readonly bytesFromCaches?: number
  /** Of a sum of what targets used, which has no other bytes. `liveMs`: how long they took media, added up. */
  readonly restream?: Bytes & { readonly liveMs: number }
  /** Of a sum of broadcasts and views, which has no bytes. */
  readonly watched?: Watched
}

/** Broadcasts and views. What began in a time counts in it; how long it lasted is divided. */
export interface Watched {
  readonly publishes: number
  readonly publishMs: number
  readonly views: number
  readonly viewMs: number
}

/** A row without bytes, and without what it is about. */
export const BLANK_ROW = { trackingId: '', country: '', streamName: '', slotMs: 0, bytesIn: 0, bytesOut: 0 }

type Rows = readonly UsageRow[]

/** The country code of traffic whose country is unknown. ISO 3166 leaves it to users. */
export const UNKNOWN_COUNTRY = 'ZZ'

/** What goes over links between nodes is in no sum. */
const NOTHING = { bytesOut: 0, bytesIn: 0 }

export function total(rows: Rows) {
  const sum = sumOfBytes(rows)
  return { ...sum, standardStream: sum, restream: restreamOf(rows), geoCascade: NOTHING }
}

export function series(rows: Rows, question: UsageQuestion) {
  const bandwidth = bySlot(rows, question, sumOfBytes)
  return lazyObject(
    Object.entries({
      bandwidth,
      standardStream: bandwidth,
      restream: bySlot(rows, question, restreamOf),
      geoCascade: bySlot([], question, () => NOTHING),
    }),
    (entry) => entry,
  )
}

/** Applies `report` to the rows of each name, in the order of the query. Names without rows are included. */
export function byName(
  rows: Rows,
  names: readonly string[],
  nameOf: (row: UsageRow) => string,
  report: (rows: Rows) => unknown,
) {
  const groups = Map.groupBy(rows, nameOf)
  return lazyObject(names, (name) => [name, report(groups.get(name) ?? [])])
}

/**
 * Applies `report` to the rows of each slot. Every slot of the time span is present. Keys are ISO 8601 times, to the
 * second, as the API has them: clients look slots up by them.
 */
export function bySlot(rows: Rows, { slots }: UsageQuestion, report: (rows: Rows) => unknown) {
  const groups = Map.groupBy(rows, (row) => slotIn(slots, row.slotMs))
  return lazyObject(slots, (slot) => [isoSecond(slot), report(groups.get(slot) ?? [])])
}

/** Bytes by country, ordered by country code. */
export const bytesByCountry = (rows: Rows) => countries(rows, sumOfBytes)

/** The same with broadcasts and views. */
export const byCountry = (rows: Rows) => countries(rows, (of) => ({ ...sumOfBytes(of), ...durationsOf(of) }))

/** An older form of it. */
export const viewsByCountry = (rows: Rows) =>
  countries(rows, (of) => {
    const { bytesIn, bytesOut } = sumOfBytes(of)
    return { bytes: bytesIn + bytesOut, views: sumOfWatched(of).views }
  })

function countries<T>(rows: Rows, report: (rows: Rows) => T): Record<string, T> {
  const groups = Map.groupBy(rows, (row) => row.country || UNKNOWN_COUNTRY)
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([cc, of]) => [cc, report(of)]))
}

/** For one tracking id: the bytes of each stream. */
export const perStream = (rows: Rows) =>
  lazyList(
    Map.groupBy(rows, (row) => row.streamName),
    ([streamName, of]) => ({ streamName, ...sumOfBytes(of) }),
  )

/** For one stream: the bytes of each tracking id. Traffic without one has an entry of its own. */
export const perTrackingId = (rows: Rows) =>
  lazyList(
    Map.groupBy(rows, (row) => row.trackingId),
    ([trackingId, of]) => ({ ...(trackingId === '' ? {} : { trackingId }), ...sumOfBytes(of) }),
  )

/** Sums by protocol. */
export const byProtocol = (rows: Rows) =>
  lazyObject(
    Map.groupBy(rows, ({ protocol = '' }) => protocol),
    ([protocol, of]) => [protocol, sumOfBytes(of)],
  )

/** The most tokens that a report shows. */
const TOKENS_SHOWN = 100

/** The tokens with the most bytes in both directions, the most first. Each has one row. */
export const perToken = (rows: Rows) =>
  lazyValue(function* () {
    const shown: UsageRow[] = []
    for (const row of rows) {
      const at = shown.findLastIndex((one) => compareBytes(one, row) <= 0) + 1
      if (at < TOKENS_SHOWN) shown.splice(at, 0, row)
      if (shown.length > TOKENS_SHOWN) shown.pop()
      yield
    }
    return shown.map((row) => ({ ...(row.tokenId ? { tokenId: row.tokenId } : {}), ...sumOfBytes([row]) }))
  })

const compareBytes = (a: UsageRow, b: UsageRow): number =>
  b.bytesOut + b.bytesIn - a.bytesOut - a.bytesIn || (a.tokenId ?? 0) - (b.tokenId ?? 0)

/** What was sent on to other servers, beside the bytes of publishers and viewers. */
export function restreamOf(rows: Rows): { secondsUsed: number; bytesOut: number; bytesIn: number } {
  const sum = { liveMs: 0, ...NOTHING }
  for (const { restream } of rows) {
    sum.liveMs += restream?.liveMs ?? 0
    sum.bytesIn += restream?.bytesIn ?? 0
    sum.bytesOut += restream?.bytesOut ?? 0
  }
  const { liveMs, ...bytes } = sum
  return { secondsUsed: seconds(liveMs), ...bytes }
}

/** Broadcasts and views, in seconds. */
export function durationsOf(rows: Rows) {
  const { publishMs, viewMs, publishes, views } = sumOfWatched(rows)
  return { publishDuration: seconds(publishMs), viewDuration: seconds(viewMs), publishes, views }
}

function sumOfWatched(rows: Rows): Watched {
  const sum = { publishes: 0, publishMs: 0, views: 0, viewMs: 0 }
  for (const { watched } of rows) {
    sum.publishes += watched?.publishes ?? 0
    sum.publishMs += watched?.publishMs ?? 0
    sum.views += watched?.views ?? 0
    sum.viewMs += watched?.viewMs ?? 0
  }
  return sum
}

const seconds = (ms: number): number => Math.round(ms / 1000)

/** Without caches the sum has no field for them. */
export function sumOfBytes(rows: Rows): { bytesOut: number; bytesIn: number; bytesFromCaches?: number } {
  const sum = { ...NOTHING }
  let fromCaches = 0
  for (const { bytesIn, bytesOut, bytesFromCaches = 0 } of rows) {
    sum.bytesIn += bytesIn
    sum.bytesOut += bytesOut
    fromCaches += bytesFromCaches
  }
  return fromCaches === 0 ? sum : { ...sum, bytesFromCaches: fromCaches }
}
