import { UNKNOWN_COUNTRY, type UsageRow } from './report.ts'
import { slotIn, slotsOf, type SlottedSpan } from '../zonedSlots.ts'

/** A column of a report: what its sums are grouped by. */
export type UsageDimension = 'slot' | 'streamName' | 'trackingId' | 'country' | 'protocol' | 'tokenId'

const HEADINGS: Readonly<Record<UsageDimension, string>> = {
  slot: 'time',
  streamName: 'streamName',
  trackingId: 'trackingId',
  country: 'country',
  protocol: 'protocol',
  tokenId: 'tokenId',
}

const BYTES = ['bytesOut', 'bytesIn', 'bytesFromCaches']

/**
 * The rows of a report as CSV (RFC 4180), a line for each sum; times without traffic have none. The last column, bytes from
 * caches, is there only if there are any.
 */
export function usageCsv(
  rows: readonly UsageRow[],
  dimensions: readonly UsageDimension[],
  question: SlottedSpan,
): string {
  const slots = slotsOf(question)
  const sums = new Map<string, [bytesOut: number, bytesIn: number, fromCaches: number]>()
  for (const row of rows) {
    const key = dimensions.map((name) => cell(valueOf(row, name, slots))).join(',')
    const [bytesOut, bytesIn, fromCaches] = sums.get(key) ?? [0, 0, 0]
    sums.set(key, [bytesOut + row.bytesOut, bytesIn + row.bytesIn, fromCaches + (row.bytesFromCaches ?? 0)])
  }
  const columns = [...sums.values()].some(([, , fromCaches]) => fromCaches > 0) ? BYTES : BYTES.slice(0, 2)
  const lines = [...sums].map(([key, bytes]) =>
    [...(dimensions.length === 0 ? [] : [key]), ...bytes.slice(0, columns.length)].join(),
  )
  return [[...dimensions.map((name) => HEADINGS[name]), ...columns].join(), ...lines, ''].join('\r\n')
}

function valueOf(row: UsageRow, name: UsageDimension, slots: readonly number[]): string {
  if (name === 'slot') return `${new Date(slotIn(slots, row.slotMs)).toISOString().slice(0, 19)}Z`
  if (name === 'tokenId') return row.tokenId ? String(row.tokenId) : ''
  if (name === 'country') return row.country || UNKNOWN_COUNTRY
  return row[name] ?? ''
}

/** A line of CSV, without its end. */
export const csvLine = (texts: readonly string[]): string => texts.map(cell).join()

/** Spreadsheets run a cell that begins like a formula, some also with the wide forms of these signs; an apostrophe makes it text. */
export const withoutFormula = (text: string): string => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)

/** Quoted, so that no name can end its cell. */
function cell(text: string): string {
  if (/^[\w:.-]*$/.test(text) && !text.startsWith('-')) return text
  return `"${withoutFormula(text).replaceAll('"', '""')}"`
}
