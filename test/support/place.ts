import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MIGRATIONS } from '../../src/store/migrations/migrate.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { freshDatabase, postgresUrl } from './postgres.ts'

/** A database product, as the titles of tests name it. */
export type StoreEngine = 'SQLite' | 'PostgreSQL'

/** By their names in `TEST_STORES`. */
const ENGINES = new Map<string, StoreEngine>([
  ['sqlite', 'SQLite'],
  ['postgres', 'PostgreSQL'],
])

/**
 * The stores on which a suite runs, for `describe.each`, or those of them in `among`. `TEST_STORES` chooses them by name,
 * separated by commas; without it they are both. A half that is not chosen is not defined, so that it does not count as
 * skipped. Neither is the half of PostgreSQL without a server, which the setup of the run reports.
 */
export function testedStores(...among: StoreEngine[]): StoreEngine[] {
  const chosen = (process.env['TEST_STORES'] ?? 'sqlite,postgres').split(',').map(engineOf)
  return chosen
    .filter((engine) => among.length === 0 || among.includes(engine))
    .filter((engine) => engine === 'SQLite' || postgresUrl())
}

function engineOf(name: string): StoreEngine {
  const engine = ENGINES.get(name)
  if (!engine) throw new Error(`TEST_STORES has ${JSON.stringify(name)}; it takes ${[...ENGINES.keys()].join(', ')}`)
  return engine
}

/** The location of a store of one database. */
export interface Place {
  url: string
  remove(): Promise<void>
}

export async function newPlace(engine: StoreEngine): Promise<Place> {
  if (engine === 'PostgreSQL') {
    const database = await freshDatabase()
    return { url: database.url, remove: database.drop }
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-place-'))
  return { url: join(folder, 'sluice.db'), remove: async () => rmSync(folder, { recursive: true }) }
}

/**
 * Makes the tables of this version in a SQLite file, unless it is there: a copy takes a tenth of the processor time of
 * migrations. Only for who brings a sealing key: a start that finds a database makes none.
 */
export async function migrateByCopy(file: string): Promise<void> {
  // A test may add a migration.
  const version = [...MIGRATIONS.keys()].join()
  const made = migrated.get(version) ?? migratedDatabase()
  migrated.set(version, made)
  const database = await made
  if (!existsSync(file)) writeFileSync(file, database, { mode: 0o600 })
}

const migrated = new Map<string, Promise<Buffer>>()

async function migratedDatabase(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-migrated-'))
  const file = join(folder, 'sluice.db')
  await (await openSqlite(file)).close()
  const database = readFileSync(file)
  rmSync(folder, { recursive: true })
  return database
}
