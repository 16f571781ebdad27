import { setTimeout as sleep } from 'node:timers/promises'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely'
import { migrate } from '../migrations/migrate.ts'
import { SqliteConnection } from './connection.ts'
import { isBusy, translateSqliteError } from './errors.ts'

/** How long to wait for another process that migrates the same file. */
const WAIT_MS = 60_000
/** Between two tries, first and later: each try costs the process that holds the file some of the processor. */
const RETRY_MS = { first: 20, most: 500 }

type OnLocked = () => Promise<void>

/**
 * Migrates the file to the current schema on a connection of its own. Retries while another process writes, which is safe
 * because all migrations are one transaction.
 * @param onLocked runs first, while the lock is held: no other process changes or copies what the migration will change
 * @throws UnusableDatabase, and what `onLocked` throws
 */
export async function migrateFile(file: string, onLocked: OnLocked = () => Promise.resolve()): Promise<void> {
  const giveUpAt = performance.now() + WAIT_MS
  for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(RETRY_MS.most, waitMs * 2)) {
    try {
      await migrateOnce(file, onLocked)
      return
    } catch (raw) {
      const error = translateSqliteError(raw)
      if (!isBusy(error) || performance.now() > giveUpAt) throw error
      await sleep(waitMs)
    }
  }
}

async function migrateOnce(file: string, onLocked: OnLocked): Promise<void> {
  const connection = new SqliteConnection(file, { readOnly: false, busyTimeoutMs: 20 })
  const db = new Kysely<unknown>({
    dialect: new MigrationDialect({ database: asKyselyDatabase(connection) }, onLocked),
  })
  try {
    await migrate(db, 'sqlite')
    // Without a migration the file was only read: a disk that takes no writes is told at the start, not with the first change.
    connection.runSync('begin immediate')
    connection.runSync('rollback')
  } finally {
    await db.destroy()
    connection.close()
  }
}

class MigrationDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig
  readonly #onLocked: OnLocked

  constructor(config: SqliteDialectConfig, onLocked: OnLocked) {
    super(config)
    this.#config = config
    this.#onLocked = onLocked
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.#config, this.#onLocked)
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter()
  }
}

/** Takes the write lock at once, so that of two processes one migrates and the other then finds nothing to do. */
class ImmediateDriver extends SqliteDriver {
  readonly #onLocked: OnLocked

  constructor(config: SqliteDialectConfig, onLocked: OnLocked) {
    super(config)
    this.#onLocked = onLocked
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
    await this.#onLocked()
  }

  /** A full disk has ended the transaction already, and its error is the one to tell. The connection is closed in any case. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined)
  }
}

/** SQLite can roll back DDL. Kysely assumes that it cannot, and would leave a failed migration half done. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

function asKyselyDatabase(connection: SqliteConnection): SqliteDatabase {
  return {
    close: () => connection.close(),
    prepare: (sql) => {
      const prepared = connection.prepare(sql)
      return {
        reader: prepared.returnsRows,
        all: (values) => prepared.all(values),
        run: (values) => prepared.run(values),
        iterate: (values) => prepared.all(values).values(),
      }
    },
  }
}
