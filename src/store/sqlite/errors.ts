import { conflict } from '../conflicts.ts'
import { StoreUnavailable } from '../store.ts'

/** Primary result codes (https://www.sqlite.org/rescode.html) for a file that cannot be used now. */
const UNAVAILABLE: Record<number, string> = {
  5: 'another process holds the database',
  6: 'another process holds a table',
  8: 'the database is read-only',
  10: 'reading or writing the database file failed',
  11: 'the database file is damaged',
  13: 'the disk is full',
  14: 'the database file cannot be opened',
  26: 'the file is not a database',
}

const FULL = 13

/** Extended codes SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE. */
const UNIQUE = new Set([1555, 2067])

/** Another process is writing; a retry is likely to succeed soon. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreUnavailable && primaryCode(error.cause) === 5
}

/** Translates an error of `node:sqlite` into one of the store. Returns any other error unchanged. */
export function translateSqliteError(error: unknown): unknown {
  const code = extendedCode(error)
  if (code === undefined || !(error instanceof Error)) return error
  if (UNIQUE.has(code)) return conflict({ columns: error.message.replace(/^.*constraint failed: /, '') }, error)
  const why = UNAVAILABLE[code & 0xff]
  return why === undefined ? error : new StoreUnavailable(why, { cause: error, isDiskFull: (code & 0xff) === FULL })
}

function primaryCode(error: unknown): number | undefined {
  const code = extendedCode(error)
  return code === undefined ? undefined : code & 0xff
}

function extendedCode(error: unknown): number | undefined {
  const found = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof found === 'number' ? found : undefined
}
