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

/** A loop, because a list may have a hundred thousand lines. */
const widest = (lines: readonly (readonly string[])[], column: number): number =>
  lines.reduce((most, line) => Math.max(most, widthOf(line[column] ?? '')), 0)

/** A record as `name  value` lines, without empty values. */
export function fields(record: object): string {
  const shown = Object.entries(record).map(([name, value]) => [name, show(value)] as const)
  const filled = shown.filter(([, value]) => value !== '')
  const width = Math.max(0, ...filled.map(([name]) => name.length))
  return filled.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
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
