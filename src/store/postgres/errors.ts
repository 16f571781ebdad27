import { DatabaseError } from 'pg'
import { errorText } from '../../base/errorCode.ts'
import { shownDatabase } from '../../base/postgresUrl.ts'
import { conflict } from '../conflicts.ts'
import { StoreUnavailable } from '../store.ts'
import { NoTurn } from './poolTurns.ts'

const SHARED = 'PgBouncer in transaction mode? Sluice needs sessions: set pool_mode = session, or connect directly'

/** The server gave no answer. It may have done what it was asked for. */
export class Unreachable extends StoreUnavailable {}

/** The same of a commit. Whatever it was asked for before in the transaction, it has undone. */
export class CommitLost extends Unreachable {
  override readonly mayHaveWritten = true
}

/** The server aborted this transaction because of another one; a retry may succeed at once. */
export class Retry extends StoreUnavailable {}

/**
 * A failure after which connections that are open may be at the wrong server, or are about to be closed. They are
 * replaced; new ones are opened to the server that takes writes now.
 */
export class StaleConnections extends StoreUnavailable {}

/** A standby, as the old primary is after a failover, or a database that was made read-only. */
export class ReadOnlyServer extends StaleConnections {
  override readonly publicReason = 'the database is read-only (a standby?)'

  constructor(options: ErrorOptions = {}) {
    super('the database is read-only (a standby?)', options)
  }
}

/** The connections of this process share sessions of the server, so that statements and LISTEN get lost. */
export class SharedSessions extends StaleConnections {
  override readonly publicReason = SHARED

  constructor(options: ErrorOptions = {}) {
    super(SHARED, options)
  }
}

/**
 * A statement was prepared before a migration that changed the shape of its answer. Another connection prepares it again.
 */
export class OutdatedPlan extends StaleConnections {}

const UNIQUE_VIOLATION = '23505'
const READ_ONLY = '25006'
const DISK_FULL = '53100'
/** feature_not_supported, and where in the server it comes from: the message is in the language of the server. */
const OUTDATED = { code: '0A000', routine: 'RevalidateCachedQuery' }
/** serialization_failure and deadlock_detected */
const RETRY = new Set(['40001', '40P01'])
/**
 * SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) of temporary errors: connection, resources,
 * administrator shutdown, I/O; then lock timeout, statement timeout, idle transaction timeout.
 */
const UNAVAILABLE = /^(08|53|57P|58|55P03|57014|25P03|XX001|XX002)/

/** admin_shutdown, crash_shutdown, cannot_connect_now */
const SHUTDOWN = /^57P0[123]$/
/** invalid_sql_statement_name, duplicate_prepared_statement: another client has had the session meanwhile. */
const SHARED_SESSION = new Set(['26000', '42P05'])

/** The server did not open a connection in time. */
export class NotOpened extends Error {}

/** How many connections there may be, and how many of them are in use. */
export interface PoolUse {
  readonly size: number
  readonly inUse: number
}

/** A connection in use has reached the server, so the server is not what is missing. */
const whyNoneIsFree = ({ size, inUse }: PoolUse): string =>
  inUse >= size
    ? `all ${size} connections of this process to the database are in use; see storage.poolSize`
    : `${inUse} of the ${size} connections of this process to the database are in use, and no other was opened in time`

/**
 * Why no connection was opened, in the words of the store. Whatever the server says then is no mistake of a statement: that it does
 * not take the password any more, that the user may not log in, that the database is away.
 */
export function unopened(error: unknown, pool: PoolUse): unknown {
  const isWait = error instanceof NoTurn || error instanceof NotOpened
  if (isWait && pool.inUse > 0) return new StoreUnavailable(whyNoneIsFree(pool), { cause: error })
  const translated = translatePostgresError(error)
  return translated instanceof DatabaseError ? new StoreUnavailable(translated.message, { cause: error }) : translated
}

/** What an operator does about what a server answers when it is first asked, by SQLSTATE. */
const REMEDIES: Readonly<Record<string, string>> = {
  '28000': 'correct the user in storage.url, or let it log in',
  '28P01': 'correct the user and the password in storage.url',
  '3D000': 'make the database, or correct storage.url',
  '42P07': 'choose an empty database in storage.url',
  '42501': 'make the user of storage.url the owner of the database',
  '55P03': 'start it again when the transaction that has locked a table is over, such as that of pg_dump',
  '53300': 'raise max_connections or the limit of the user, or lower storage.poolSize',
}
const START = 'start it, or correct storage.url'
const TRUST = 'name its authority in storage.url: sslmode=verify-full&sslrootcert=FILE'

/** Why the database cannot be opened: which one, the cause, and what to do. */
export function openingProblem(error: unknown, url: string): unknown {
  if (!(error instanceof StoreUnavailable || error instanceof DatabaseError)) return error
  if (error instanceof ReadOnlyServer || error instanceof SharedSessions) return error
  const from = error instanceof DatabaseError ? error : error.cause
  const shown = shownDatabase(url)
  if (error instanceof Unreachable) {
    const cause = causeOf(from)
    const remedy = /certificate/.test(cause) ? TRUST : START
    return new StoreUnavailable(`${shown}: ${error.message} (${cause}); ${remedy}`, { cause: error })
  }
  const remedy = from instanceof DatabaseError ? REMEDIES[from.code ?? ''] : undefined
  return new StoreUnavailable(`${shown}: ${error.message}${remedy ? `; ${remedy}` : ''}`, { cause: error })
}

/** A name with several addresses has an error of each. */
const causeOf = (error: unknown): string =>
  error instanceof AggregateError ? causeOf(error.errors[0]) : errorText(error)

/** An error of `pg` in the words of the store; a mistake of ours (a bad statement) is returned as it is. */
export function translatePostgresError(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error
  if (!(error instanceof DatabaseError)) {
    return isAboutReaching(error) ? new Unreachable('the database server cannot be reached', { cause: error }) : error
  }
  const code = error.code ?? ''
  if (code === UNIQUE_VIOLATION) return conflict({ constraint: error.constraint ?? '' }, error)
  if (RETRY.has(code)) return new Retry('the database gave up the transaction', { cause: error })
  if (code === OUTDATED.code && error.routine === OUTDATED.routine)
    return new OutdatedPlan('a prepared statement is older than the tables', { cause: error })
  if (code === READ_ONLY) return new ReadOnlyServer({ cause: error })
  if (SHARED_SESSION.has(code)) return new SharedSessions({ cause: error })
  if (SHUTDOWN.test(code)) return new StaleConnections(error.message, { cause: error })
  if (!UNAVAILABLE.test(code)) return error
  return new StoreUnavailable(error.message, { cause: error, isDiskFull: code === DISK_FULL })
}

/** Socket errors have a code (ECONNREFUSED, ENOENT, …); connection errors of `pg` have only a message. */
function isAboutReaching(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return 'code' in error || /connect|terminated|timeout|not queryable|pool/i.test(error.message)
}
