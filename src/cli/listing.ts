import { csvRow } from '../core/audit/csv.ts'
import {
  bitrateText,
  bytesText,
  durationText,
  hertzText,
  millisText,
  percentText,
  secondsText,
  timeText,
} from './figures.ts'
import { toggleFlag } from './flag.ts'
import type { Terminal } from './host.ts'
import { fields, printable, printableLines, table, widest } from './print.ts'
import { cut, folded, widthOf, wrapped } from './width.ts'

/** Numbers as people read them on a terminal. `bitrate` is in bits a second, `share` from 0 to 1. */
const FIGURES = {
  bytes: bytesText,
  bitrate: bitrateText,
  ms: millisText,
  seconds: secondsText,
  percent: percentText,
  share: (share: number) => percentText(share * 100),
  hertz: hertzText,
} as const satisfies Record<string, (value: number) => string>

/**
 * What the values of a column are. `key` is what people copy, so it is never cut. Numbers of FIGURES, `since`, `until`
 * and `time` (ISO 8601) are shown for people on a terminal: 1.2 MB, 2.5 Mbit/s, 1:42:08. A `sentence` is below its row where the terminal
 * has no room for all of it, and so are the last columns.
 */
export type ColumnKind = keyof typeof FIGURES | 'key' | 'text' | 'since' | 'until' | 'time' | 'sentence'

type Cell = string | number | null | undefined

/** The columns of a list: their headings, and the value for a row. */
export type Columns<R> = Readonly<Record<string, readonly [ColumnKind, (row: R) => Cell]>>

/** A list before it is printed: as a table for people, or as comma-separated values. */
export interface Listing {
  readonly headings: readonly string[]
  readonly kinds: readonly ColumnKind[]
  readonly rows: readonly (readonly Cell[])[]
  /** Each row is shown with one line for each column that has a value. */
  readonly isRecord: boolean
  /** Lines above each row of such a list, which are for people alone. */
  readonly above?: readonly string[]
}

export const isListing = (text: string | object): text is Listing => typeof text === 'object' && 'headings' in text

/** A boolean in a column. */
export const yesNo = (is: boolean): string => (is ? 'yes' : 'no')

export const CSV_FLAG = {
  csv: toggleFlag('Print comma-separated values, with a line of headings. Sizes and times are exact.'),
}

/** The flags of a list that people follow. */
export const WATCH_FLAGS = {
  ...CSV_FLAG,
  watch: toggleFlag('Show it again every two seconds, until Ctrl+C.'),
}

export function listing<R>(columns: Columns<R>, rows: readonly R[]): Listing {
  const all = Object.values(columns)
  return {
    headings: Object.keys(columns),
    kinds: all.map(([kind]) => kind),
    rows: rows.map((row) => all.map(([, valueOf]) => valueOf(row))),
    isRecord: false,
  }
}

export const record = <R>(columns: Columns<R>, row: R): Listing => ({ ...listing(columns, [row]), isRecord: true })

/** One record after the other. What `aboveOf` says of each comes first, since --watch shows as much as the terminal has room for. */
export const records = <R>(columns: Columns<R>, rows: readonly R[], aboveOf: (row: R) => string): Listing => ({
  ...listing(columns, rows),
  isRecord: true,
  above: rows.map(aboveOf),
})

/** Comma-separated values as they are, with line ends. */
export function csvText({ headings, rows }: Listing, terminal: Terminal | null): string {
  const shown = terminal === null ? (text: string) => text : printable
  return [headings, ...rows.map((row) => row.map((cell) => shown(plain(cell))))].map(csvRow).join('')
}

/**
 * For people. In a pipe, columns are as wide as their content and values as they are.
 * @param nowMs epoch milliseconds
 */
export function listingText(list: Listing, terminal: Terminal | null, nowMs: number): string {
  const { headings, kinds, rows, isRecord, above = [] } = list
  const shown = terminal === null ? plain : (cell: Cell, kind?: ColumnKind) => forPeople(cell, kind, nowMs)
  const cells = rows.map((row) => row.map((cell, column) => shown(cell, kinds[column])))
  if (isRecord) {
    const fieldsOf = (row: readonly string[]): string =>
      fields(Object.fromEntries(headings.map((heading, column) => [heading, row[column]])))
    const aboveAt = (at: number): string =>
      terminal === null ? (above[at] ?? '') : folded(printableLines(above[at] ?? '', true), terminal.columns)
    return cells.map((row, at) => [aboveAt(at), fieldsOf(row)].filter(Boolean).join('\n\n')).join('\n\n')
  }
  if (terminal === null) return table(headings, cells)
  const { columns } = terminal
  const lines = table(headings, cells).split('\n')
  if (lines.every((line) => widthOf(line) <= columns)) return lines.join('\n')
  const isCut = (column: number): boolean => rows.some((row) => typeof row[column] === 'string')
  // Half a number is another one.
  const fixed = kinds.map((kind, column) => (kind === 'text' && !isCut(column) ? 'key' : kind))
  return narrow(headings, cells, fixed, columns)
    .map((line) => cut(line, columns))
    .join('\n')
}

/**
 * The lines of a table that is wider than the terminal: sentences are below their rows, and texts are cut. The last columns for which
 * there is no room even so are below their rows too, with their headings.
 */
function narrow(
  headings: readonly string[],
  cells: readonly (readonly string[])[],
  kinds: readonly ColumnKind[],
  columns: number,
): string[] {
  const leastOf = (column: number): number => {
    const width = widest([headings, ...cells], column)
    return kinds[column] === 'text' ? Math.min(width, TEXT_MIN) : width
  }
  const inRow = [...headings.keys()].filter((column) => kinds[column] !== 'sentence')
  const shown = new Set(inRow.slice(0, roomFor(inRow.map(leastOf), columns)))
  const isShown = (_: unknown, column: number): boolean => shown.has(column)
  const belowOf = (row: readonly string[]): string[] => {
    const named = inRow.filter((column) => !shown.has(column) && row[column] !== '')
    const sentences = row.filter((_, column) => kinds[column] === 'sentence')
    return [named.map((column) => `${headings[column]}: ${row[column]}`).join('; '), ...sentences].filter(Boolean)
  }
  const fitted = (widths: readonly number[]) => fit(widths, kinds.filter(isShown), columns)
  const rows = cells.map((row) => row.filter(isShown))
  const [heading = '', ...lines] = table(headings.filter(isShown), rows, fitted).split('\n')
  return [
    heading,
    ...lines.flatMap((line, at) => [
      line,
      ...belowOf(cells[at] ?? []).flatMap((text) => wrapped(printable(text), columns, INDENT)),
    ]),
  ]
}

/** How many columns have room, at least one. */
function roomFor(widths: readonly number[], columns: number): number {
  let width = -GAP
  const tooWide = widths.findIndex((next) => (width += next + GAP) > columns)
  return tooWide === -1 ? widths.length : Math.max(1, tooWide)
}

const INDENT = '    '

const plain = (cell: Cell): string => String(cell ?? '')

function forPeople(cell: Cell, kind: ColumnKind | undefined, nowMs: number): string {
  if (typeof cell === 'number' && kind !== undefined && kind in FIGURES)
    return FIGURES[kind as keyof typeof FIGURES](cell)
  if (kind === 'since' && typeof cell === 'string') return durationText(nowMs - Date.parse(cell))
  if (kind === 'time' && typeof cell === 'string' && cell.includes('T')) return timeText(cell, nowMs)
  if (kind === 'until' && typeof cell === 'string') return durationText(Date.parse(cell) - nowMs)
  return plain(cell)
}

/** Between two columns of a table. */
const GAP = 2
/** A text is not cut below this width: its beginning has to say which one it is. */
const TEXT_MIN = 8

/** Takes columns of text from the widest ones until the table fits, as far as that is possible. */
function fit(widths: readonly number[], kinds: readonly ColumnKind[], columns: number): readonly number[] {
  const fitted = [...widths]
  let excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns
  while (excess > 0) {
    const texts = fitted.map((width, column) => (kinds[column] === 'text' ? width : 0))
    const most = Math.max(...texts)
    if (most <= TEXT_MIN) break
    fitted[texts.indexOf(most)] = most - 1
    excess -= 1
  }
  return fitted
}
