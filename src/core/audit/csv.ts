import { withoutFormula } from '../usage/csv.ts'

/** One row of comma-separated values (RFC 4180), with its line end. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`

function cell(text: string): string {
  const safe = withoutFormula(text)
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
