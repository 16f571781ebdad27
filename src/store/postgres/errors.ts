import { DatabaseError } from 'pg'
import { conflict } from '../conflicts.ts'
import { StoreUnavailable } from '../store.ts'

/** The server aborted this transaction because of another one; a retry may succeed at once. */
export class Retry extends StoreUnavailable {}

const UNIQUE_VIOLATION = '23505'
const DISK_FULL = '53100'
/** serialization_failure and deadlock_detected */
const RETRY = new Set(['40001', '40P01'])
/**
 * SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) of temporary errors: connection, resources,
 * administrator shutdown, I/O; then read-only server, lock timeout, statement timeout, idle transaction timeout.
 */
const UNAVAILABLE = /^(08|53|57P|58|25006|55P03|57014|25P03|XX001|XX002)/

/** The message of `pg-pool` for a timeout, whether its connections are busy or cannot be opened. */
const WAITED = 'timeout exceeded when trying to connect'

/** Translates an error of `pg` into one of the store. Returns a bug of Sluice, such as a bad statement, unchanged. */
export function translatePostgresError(
  error: unknown,
  pool?: { readonly isBusy: boolean; readonly size: number },
): unknown {
  if (error instanceof StoreUnavailable) return error
  if (pool?.isBusy && error instanceof Error && error.message === WAITED) {
    const why = `all ${pool.size} connections of this process to the database are in use; see storage.poolSize`
    return new StoreUnavailable(why, { cause: error })
  }
  if (!(error instanceof DatabaseError)) {
    return isAboutReaching(error)
      ? new StoreUnavailable('the database server cannot be reached', { cause: error })
      : error
  }
  const code = error.code ?? ''
  if (code === UNIQUE_VIOLATION) return conflict({ constraint: error.constraint ?? '' }, error)
  if (RETRY.has(code)) return new Retry('the database gave up the transaction', { cause: error })
  if (!UNAVAILABLE.test(code)) return error
  return new StoreUnavailable(error.message, { cause: error, isDiskFull: code === DISK_FULL })
}

/** Socket errors have a code (ECONNREFUSED, ENOENT, …); connection errors of `pg` have only a message. */
function isAboutReaching(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return 'code' in error || /connect|terminated|timeout|not queryable|pool/i.test(error.message)
}
