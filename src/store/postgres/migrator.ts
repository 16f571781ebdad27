import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import { DatabaseTooNew, migrate } from '../migrations/migrate.ts'
import { translatePostgresError } from './errors.ts'

/** Migrates the database to the current schema. Kysely holds an advisory lock, so other nodes wait, without a timeout. */
export async function migrateDatabase(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => undefined)
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    await migrate(db, 'postgres')
  } catch (error) {
    throw error instanceof DatabaseTooNew ? error : translatePostgresError(error)
  } finally {
    await db.destroy()
  }
}
