/** How long the browser may take to read a saved file, milliseconds. */
const KEPT_MS = 10_000

/** Where a spreadsheet may read a formula: at the beginning, and behind what some take for the end of a cell. */
const FORMULA = /^(?=[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?="*[=+\-@＝＋－＠])/g

/** A table as CSV (RFC 4180). Text that a spreadsheet would read as a formula gets an apostrophe in front. */
export const csvOf = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('')

function cellOf(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const safe = value.replaceAll(FORMULA, "'")
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Saves a table as a file of the browser. */
export const saveCsv = (name: string, rows: readonly (readonly (string | number)[])[]): void =>
  saveFile(name, csvOf(rows))

/** Saves CSV text as a file of the browser. */
export function saveFile(name: string, csv: string): void {
  // Without the mark spreadsheets read names with the letters of another alphabet.
  const address = URL.createObjectURL(new Blob(['\uFEFF', csv], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
