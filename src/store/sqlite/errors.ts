import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { conflict } from '../conflicts.ts'
import { StoreUnavailable } from '../store.ts'

const RESTORE = 'move it away with its -wal and -shm files, and restore a backup with `sluice restore`'

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

/** What an operator does about them. */
const REMEDIES: Record<number, string> = {
  8: 'give it and its directory to the user that runs Sluice',
  10: 'look at the log of the system, as the disk may fail',
  11: RESTORE,
  13: 'make room',
  14: 'give it and its directory to the user that runs Sluice',
  26: RESTORE,
}

/** What clients read too: it lasts until an operator mends it. */
const PUBLIC = new Set([8, 11, 26])

const IO_FAILED = 10
const FULL = 13

/** Extended codes SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE. */
const UNIQUE = new Set([1555, 2067])

/** Another process is writing; a retry is likely to succeed soon. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreUnavailable && primaryCode(error.cause) === 5
}

/**
 * Translates an error of `node:sqlite` into one of the store. Returns any other error unchanged.
 * @param file the database, for operators; absent: its caller names it
 */
export function translateSqliteError(error: unknown, file?: string): unknown {
  const code = extendedCode(error)
  if (code === undefined || !(error instanceof Error)) return error
  if (UNIQUE.has(code)) return conflict({ columns: error.message.replace(/^.*constraint failed: /, '') }, error)
  const primary = code & 0xff
  const why = UNAVAILABLE[primary]
  if (why === undefined) return error
  const isPublic = PUBLIC.has(primary)
  return new StoreUnavailable(file === undefined ? why : `${file}: ${why}`, {
    cause: error,
    isDiskFull: primary === FULL,
    ...(isPublic ? { publicReason: why } : {}),
  })
}

/** The same when the file is opened: names it, and says what to do. @param error as `translateSqliteError` returns it */
export function openingError(error: unknown, file: string): unknown {
  if (!(error instanceof StoreUnavailable)) return error
  const code = primaryCode(error.cause) ?? 0
  // The file beside it that all connections share does not fit: SQLite says that this failed, and not why.
  const isDiskFull = code === FULL || (code === IO_FAILED && isFull(dirname(file)))
  const known = isDiskFull ? FULL : code
  const remedy = REMEDIES[known] === undefined ? '' : `; ${REMEDIES[known]}`
  return new StoreUnavailable(`${file}: ${UNAVAILABLE[known] ?? error.message}${remedy}`, {
    cause: error.cause,
    isDiskFull,
  })
}

/** Of the shared file of an index of the log, bytes. */
const SHARED_BYTES = 32_768

function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < SHARED_BYTES
  } catch {
    // The disk fails, as the caller says.
    return false
  }
}

function primaryCode(error: unknown): number | undefined {
  const code = extendedCode(error)
  return code === undefined ? undefined : code & 0xff
}

function extendedCode(error: unknown): number | undefined {
  const found = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof found === 'number' ? found : undefined
}
