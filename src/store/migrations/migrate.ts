import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { DialectName } from '../executor.ts'
import * as schema from './0001_schema.ts'
import * as nodeLoad from './0002_nodeLoad.ts'
import * as nodeDrains from './0003_nodeDrains.ts'
import * as quality from './0004_quality.ts'
import * as engineTargets from './0005_engineTargets.ts'
import * as recordingExpiry from './0006_recordingExpiry.ts'
import * as recordingSwitch from './0007_recordingSwitch.ts'
import * as tokenRecordingDays from './0008_tokenRecordingDays.ts'
import * as ingestAudio from './0009_ingestAudio.ts'
import * as sessionRoom from './0010_sessionRoom.ts'
import * as nodePorts from './0011_nodePorts.ts'
import * as tokenTranscode from './0012_tokenTranscode.ts'
import * as nodeLinks from './0013_nodeLinks.ts'
import * as regions from './0014_regions.ts'
import * as originCluster from './0015_originCluster.ts'
import * as geoCascade from './0016_geoCascade.ts'
import * as customViewerData from './0017_customViewerData.ts'
import * as nodeReports from './0018_nodeReports.ts'

type Up = (db: Kysely<unknown>, engine: DialectName) => Promise<void>

/** Every migration by its name, in order. They only go forward; a released one is never edited. */
export const MIGRATIONS = new Map<string, Up>([
  ['0001_schema', schema.up],
  ['0002_nodeLoad', nodeLoad.up],
  ['0003_nodeDrains', nodeDrains.up],
  ['0004_quality', quality.up],
  ['0005_engineTargets', engineTargets.up],
  ['0006_recordingExpiry', recordingExpiry.up],
  ['0007_recordingSwitch', recordingSwitch.up],
  ['0008_tokenRecordingDays', tokenRecordingDays.up],
  ['0009_ingestAudio', ingestAudio.up],
  ['0010_sessionRoom', sessionRoom.up],
  ['0011_nodePorts', nodePorts.up],
  ['0012_tokenTranscode', tokenTranscode.up],
  ['0013_nodeLinks', nodeLinks.up],
  ['0014_regions', regions.up],
  ['0015_originCluster', originCluster.up],
  ['0016_geoCascade', geoCascade.up],
  ['0017_customViewerData', customViewerData.up],
  ['0018_nodeReports', nodeReports.up],
])

/** The migration that sources from before the first release began with. Each of their databases names it, and no later one. */
const BEFORE_RELEASE = '0001_init'

/** True for the migrations of a database from before the first release, which no version opens. */
export const isBeforeRelease = (schema: readonly string[]): boolean => schema.includes(BEFORE_RELEASE)

/** What to do with such a database. */
export const WAY_OVER =
  'With the sources that made it, run `sluice provision export FILE`, which writes its tokens, webhooks and channels. ' +
  'Then start this version with an empty data directory or database, and run `sluice provision apply` with the file'

/** This version cannot use the database. The message says why, and what to do. */
export class UnusableDatabase extends Error {}

/** The database was written by a newer version of this program. */
export class DatabaseTooNew extends UnusableDatabase {
  override readonly name = 'DatabaseTooNew'
}

/** The database is from before the first release. */
export class DatabaseTooOld extends UnusableDatabase {
  override readonly name = 'DatabaseTooOld'
}

/**
 * Migrates the database to the schema of this version, in one transaction. Any number of processes may call it at once:
 * one migrates, the others wait and find nothing to do.
 * @throws DatabaseTooNew when the database has a migration of a newer version
 * @throws DatabaseTooOld when it is from before the first release
 */
export async function migrate(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  refuseOthers(await namesOf(db))
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(migrations(engine)) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

function migrations(engine: DialectName): Record<string, Migration> {
  return Object.fromEntries(
    [...MIGRATIONS].map(([name, up]) => [name, { up: (db: Kysely<unknown>) => up(db, engine) }]),
  )
}

/** The migrations that the database has. */
async function namesOf(db: Kysely<unknown>): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map(({ name }) => name)
}

function refuseOthers(found: readonly string[]): void {
  if (isBeforeRelease(found)) {
    throw new DatabaseTooOld(`The database is from before the first release of Sluice, 0.1.0. ${WAY_OVER}.`)
  }
  const unknown = found.filter((name) => !MIGRATIONS.has(name))
  if (unknown.length > 0) {
    throw new DatabaseTooNew(
      `The database was written by a newer version (it has ${unknown.join(', ')}). Start that version, or restore a backup made before the upgrade.`,
    )
  }
}
