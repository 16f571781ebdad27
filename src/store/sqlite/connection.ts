import { DatabaseSync, type SQLInputValue, type StatementResultingChanges, type StatementSync } from 'node:sqlite'
import { sqliteDialect } from '../dialects.ts'
import { type QueryAnswer, type Query, Executor } from '../executor.ts'
import { translateSqliteError } from './errors.ts'

/** The text of a query with lists varies, so the cache is bounded; the oldest statement is evicted first. */
const CACHED_STATEMENTS = 300

interface Prepared {
  readonly returnsRows: boolean
  run(parameters: readonly unknown[]): StatementResultingChanges
  all(parameters: readonly unknown[]): object[]
}

interface ConnectionOptions {
  readOnly: boolean
  /** How long SQLite itself waits for another process; it blocks this one meanwhile. */
  busyTimeoutMs: number
}

/**
 * One connection to the file. Statements run synchronously; the promises of `execute` are settled when it returns.
 * `secure_delete=fast` erases replaced and deleted values in pages that are written anyway.
 * `synchronous=full` syncs the log before a commit returns, which survives a power cut (`normal` survives only a crash).
 */
export class SqliteConnection extends Executor {
  readonly #file: string
  readonly #db: DatabaseSync
  readonly #dataVersion: StatementSync
  readonly #statements = new Map<string, Prepared>()

  constructor(file: string, { readOnly, busyTimeoutMs }: ConnectionOptions) {
    super(sqliteDialect)
    this.#file = file
    this.#db = new DatabaseSync(file, { readOnly, timeout: busyTimeoutMs })
    if (!readOnly) this.#db.exec('pragma journal_mode = wal')
    this.#db.exec(`
      pragma synchronous = full;
      pragma foreign_keys = on;
      pragma temp_store = memory;
      pragma cache_size = -65536;
      pragma secure_delete = fast;
      pragma journal_size_limit = 67108864;
    `)
    this.#dataVersion = this.#db.prepare('pragma data_version')
    this.#dataVersion.setReturnArrays(true)
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  /** A number that changes when another connection commits; NaN, which differs from everything, when unknown. */
  dataVersion(): number {
    try {
      const [version] = this.#dataVersion.get() as unknown as [number]
      return version
    } catch {
      return Number.NaN
    }
  }

  /** Runs a statement and returns its rows. @throws the errors of the store's interface */
  runSync(sql: string, parameters: readonly unknown[] = []): QueryAnswer {
    try {
      const prepared = this.prepare(sql)
      if (!prepared.returnsRows) return { rows: [], changed: Number(prepared.run(parameters).changes) }
      const rows = prepared.all(parameters)
      return { rows, changed: rows.length }
    } catch (error) {
      throw translateSqliteError(error, this.#file)
    }
  }

  // `async` only turns errors into rejections.
  override async execute(query: Query): Promise<QueryAnswer> {
    return this.runSync(query.sql, query.parameters)
  }

  prepare(sql: string): Prepared {
    const cached = this.#statements.get(sql)
    if (cached) return cached
    const prepared = preparedOf(this.#db.prepare(sql))
    if (this.#statements.size >= CACHED_STATEMENTS) this.#evictOldest()
    this.#statements.set(sql, prepared)
    return prepared
  }

  close(): void {
    this.#statements.clear()
    if (this.#db.isOpen) this.#db.close()
  }

  #evictOldest(): void {
    for (const sql of this.#statements.keys()) {
      this.#statements.delete(sql)
      return
    }
  }
}

/** Rows are objects as PostgreSQL's client gives them. Those of SQLite's have no prototype, and take four times as long to copy. */
function preparedOf(statement: StatementSync): Prepared {
  statement.setReturnArrays(true)
  const columns = statement.columns().map(({ name }) => name)
  return {
    returnsRows: columns.length > 0,
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    all: (parameters) =>
      statement.all(...(parameters as SQLInputValue[])).map((values) => named(values as unknown as unknown[], columns)),
  }
}

/** A row as PostgreSQL's client gives it. */
export function named(values: readonly unknown[], columns: readonly string[]): object {
  const row: Record<string, unknown> = {}
  for (const [at, column] of columns.entries()) row[column] = values[at]
  return row
}
