import type { Bytes } from '../sessions/types.ts'
import { slotOf, slotsOf, type UsageQuestion } from './query.ts'

/** A sum of usage. What it was not grouped by is empty. */
export interface UsageRow extends Bytes {
  /** The beginning of an hour or of a day. */
  readonly slotMs: number
  readonly streamName: string
  /** Empty: counted under no tracking id. */
  readonly trackingId: string
  /** Empty: not known. */
  readonly country: string
}

type Rows = readonly UsageRow[]

/** What the report of a country is called when the country is not known: reserved for that in ISO 3166. */
const UNKNOWN_COUNTRY = 'ZZ'

/** Everything is plain streaming: nothing is passed on to other platforms or between regions. */
const NOTHING = { bytesOut: 0, bytesIn: 0 }
const NO_RESTREAM = { secondsUsed: 0, ...NOTHING }

export function total(rows: Rows) {
  const sum = sumOf(rows)
  return { ...sum, standardStream: sum, restream: NO_RESTREAM, geoCascade: NOTHING }
}

export function series(rows: Rows, question: UsageQuestion) {
  const bandwidth = bySlot(rows, question, sumOf)
  const none = <T>(value: T) => bySlot([], question, () => value)
  return {
    bandwidth,
    standardStream: bandwidth,
    restream: none(NO_RESTREAM),
    geoCascade: none(NOTHING),
  }
}

/** `report` of each name's rows, in the order asked; also of names without any. */
export function byName<T>(
  rows: Rows,
  names: readonly string[],
  nameOf: (row: UsageRow) => string,
  report: (rows: Rows) => T,
): Record<string, T> {
  const groups = groupBy(rows, nameOf)
  return objectOf(names.map((name) => [name, report(groups.get(name) ?? [])]))
}

/** `report` of each slot's rows; every slot of the time is there. Keys are times as ISO 8601, to the second. */
export function bySlot<T>(rows: Rows, question: UsageQuestion, report: (rows: Rows) => T): Record<string, T> {
  const groups = groupBy(rows, (row) => slotOf(row.slotMs, question.resolution))
  return objectOf(slotsOf(question).map((slot) => [timeKey(slot), report(groups.get(slot) ?? [])]))
}

/** Clients look slots up by their key, which has no fraction of a second in the interface. */
const timeKey = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** Sums by country, in the order of the codes. */
export function byCountry(rows: Rows) {
  const groups = groupBy(rows, (row) => row.country || UNKNOWN_COUNTRY)
  return objectOf([...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([cc, of]) => [cc, sumOf(of)]))
}

/** Of one tracking id: what it moved of each stream. */
export const perStream = (rows: Rows) =>
  [...groupBy(rows, (row) => row.streamName)].map(([streamName, of]) => ({ streamName, ...sumOf(of) }))

/** Of one stream: what was moved under each tracking id; without one in an entry of its own. */
export const perTrackingId = (rows: Rows) =>
  [...groupBy(rows, (row) => row.trackingId)].map(([trackingId, of]) => ({
    ...(trackingId === '' ? {} : { trackingId }),
    ...sumOf(of),
  }))

function sumOf(rows: Rows): { bytesOut: number; bytesIn: number } {
  const sum = { ...NOTHING }
  for (const { bytesIn, bytesOut } of rows) {
    sum.bytesIn += bytesIn
    sum.bytesOut += bytesOut
  }
  return sum
}

function groupBy<K>(rows: Rows, keyOf: (row: UsageRow) => K): Map<K, UsageRow[]> {
  const groups = new Map<K, UsageRow[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group) group.push(row)
    else groups.set(keyOf(row), [row])
  }
  return groups
}

/** Names come from people: without a prototype, `__proto__` is a name like any other. */
function objectOf<T>(entries: [string, T][]): Record<string, T> {
  const object = Object.create(null) as Record<string, T>
  for (const [key, value] of entries) object[key] = value
  return object
}
