import { durationsOf, restreamOf, sumOfBytes, UNKNOWN_COUNTRY, type UsageRow } from './report.ts'
import { slotIn } from '../zonedSlots.ts'
import type { UsageQuestion } from './query.ts'

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

/** The columns of a report. */
interface UsageColumns {
  readonly dimensions: readonly UsageDimension[]
  /** What targets used. */
  readonly hasRestreams: boolean
  /** Broadcasts and views. */
  readonly hasViews: boolean
}

/**
 * The rows of a report as CSV (RFC 4180), in pieces: a line for each sum, in order; times in which nothing happened have none. The last
 * column, bytes from caches, is there only if there are any.
 */
export function* usageCsv(
  rows: readonly UsageRow[],
  { dimensions, hasRestreams, hasViews }: UsageColumns,
  { slots }: Pick<UsageQuestion, 'slots'>,
): Generator<string, void> {
  const hasCaches = rows.some(({ bytesFromCaches = 0 }) => bytesFromCaches > 0)
  const figures = (of: readonly UsageRow[]): Record<string, number> => {
    const { bytesOut, bytesIn, bytesFromCaches = 0 } = sumOfBytes(of)
    const restream = restreamOf(of)
    return {
      bytesOut,
      bytesIn,
      ...(hasRestreams && {
        restreamSecondsUsed: restream.secondsUsed,
        restreamBytesOut: restream.bytesOut,
        restreamBytesIn: restream.bytesIn,
      }),
      ...(hasViews && durationsOf(of)),
      ...(hasCaches && { bytesFromCaches }),
    }
  }
  const sums = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const key = dimensions.map((name) => cell(valueOf(row, name, slots))).join()
    const of = sums.get(key)
    if (of) of.push(row)
    else sums.set(key, [row])
    yield ''
  }
  yield `${[...dimensions.map((name) => HEADINGS[name]), ...Object.keys(figures([]))].join()}\r\n`
  // Rows of targets and of views come behind those of bytes, and some in the order in which the database found them.
  const lines = hasRestreams || hasViews ? [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)) : sums
  for (const [key, of] of lines)
    yield `${[...(dimensions.length === 0 ? [] : [key]), ...Object.values(figures(of))].join()}\r\n`
}

function valueOf(row: UsageRow, name: UsageDimension, slots: readonly number[]): string {
  if (name === 'slot') return `${new Date(slotIn(slots, row.slotMs)).toISOString().slice(0, 19)}Z`
  if (name === 'tokenId') return row.tokenId ? String(row.tokenId) : ''
  if (name === 'country') return row.country || UNKNOWN_COUNTRY
  return row[name] ?? ''
}

/** A line of CSV, without its end. */
export const csvLine = (texts: readonly string[]): string => texts.map(cell).join()

/**
 * Spreadsheets run a cell that begins like a formula, some also with the wide forms of these signs; an apostrophe makes it text. Where
 * semicolons separate cells, as for Excel in most of Europe, quotes after a comma mean nothing: there a cell begins behind each
 * semicolon and each line break of a name.
 */
export const withoutFormula = (text: string): string => text.replaceAll(FORMULA, "'")

const FORMULA = /^(?=[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?="*[=+\-@＝＋－＠])/g

/** Quoted, so that no name can end its cell. */
function cell(text: string): string {
  if (/^[\w:.-]*$/.test(text) && !text.startsWith('-')) return text
  return `"${withoutFormula(text).replaceAll('"', '""')}"`
}
