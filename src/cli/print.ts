import { visibleJson } from '../base/quote.ts'
import { fill, widthOf } from './width.ts'

/**
 * A table with headings. Columns are as wide as their content.
 * @param fit narrower widths of the columns, whose texts are then cut
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  fit: (widths: readonly number[]) => readonly number[] = (widths) => widths,
): string {
  const lines = [headings, ...rows.map((row) => row.map(printable))]
  const widths = fit(headings.map((_, column) => widest(lines, column)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => fill(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The width of a column. A loop, because a list may have a hundred thousand lines. */
export const widest = (lines: readonly (readonly string[])[], column: number): number =>
  lines.reduce((most, line) => Math.max(most, widthOf(line[column] ?? '')), 0)

/** A record as `name  value` lines, without empty values. What is nested is JSON. */
export const fields = (record: object): string =>
  lines(Object.entries(record).map(([name, value]) => [name, show(value)]))

function lines(values: readonly (readonly [name: string, value: string])[]): string {
  const filled = values.filter(([, value]) => value !== '')
  const width = Math.max(0, ...filled.map(([name]) => name.length))
  return filled.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

/** Records before they are printed, the further ones under their titles. */
export interface Details {
  readonly records: readonly (readonly [title: string, record: object])[]
}

/** @param parts what belongs to the record */
export const details = (record: object, parts: Details['records'] = []): Details => ({
  records: [['', record], ...parts],
})

/** @param isTerminal false: as `fields`, for the program that reads them */
export function detailsText({ records }: Details, isTerminal: boolean): string {
  const textOf = isTerminal ? outline : fields
  return records.map(([title, record]) => `${title && `\n${title}\n`}${textOf(record)}`).join('\n')
}

type Nested = object | readonly object[]

/** A record as `name  value` lines for people. What is nested is below its name. */
function outline(record: object): string {
  const entries = Object.entries(record).filter(([, value]) => show(value) !== '' && show(value) !== '{}')
  const nested = entries.filter(([, value]) => isNested(value)) as [string, Nested][]
  const flat = entries.filter(([, value]) => !isNested(value))
  return [
    lines(flat.map(([name, value]) => [name, show(value)])),
    ...nested.map(([name, value]) => `${name}\n${indented(nestedText(value))}`),
  ]
    .filter(Boolean)
    .join('\n')
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null
const isNested = (value: unknown): boolean => (Array.isArray(value) ? value.some(isRecord) : isRecord(value))
const indented = (text: string): string => text.replace(/^/gm, '  ')

/** Alike records are a table, and others stand one below the other. */
function nestedText(value: Nested): string {
  if (!Array.isArray(value)) return outline(value)
  const items = value as readonly object[]
  if (items.some((item) => Object.values(item).some(isNested)))
    return items.map((item) => indented(outline(item)).replace(/^ /, '-')).join('\n')
  const headings = [...new Set(items.flatMap((item) => Object.keys(item)))]
  return table(
    headings,
    items.map((item) => headings.map((heading) => show((item as Record<string, unknown>)[heading]))),
  )
}

function show(value: unknown): string {
  if (Array.isArray(value)) return value.map(show).join(', ')
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** One JSON value, indented. */
export const jsonText = (value: unknown): string => visibleJson(JSON.stringify(value, null, 2))

/** One JSON value on a line of its own. */
export const jsonLine = (value: unknown): string => `${visibleJson(JSON.stringify(value))}\n`

/** Text that others chose must not control the terminal of the reader. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD')

/** Lines of it. @param isTerminal false: as they are, for the program that reads them */
export const printableLines = (text: string, isTerminal: boolean): string =>
  isTerminal ? text.replace(/[^\n\t]+/g, printable) : text
