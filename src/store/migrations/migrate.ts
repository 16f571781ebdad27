import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { DialectName } from '../executor.ts'
import * as init from './0001_init.ts'
import * as webhooks from './0002_webhooks.ts'
import * as sessions from './0003_sessions.ts'
import * as channels from './0004_live.ts'
import * as runs from './0005_runs.ts'
import * as recordings from './0006_recordings.ts'
import * as served from './0007_served.ts'
import * as nodeUrls from './0008_node_urls.ts'
import * as viewed from './0009_viewed.ts'
import * as sources from './0011_sources.ts'
import * as accessLogRepeats from './0012_access_log_repeats.ts'
import * as runActors from './0014_run_actors.ts'
import * as channelEvents from './0015_channel_events.ts'
import * as engineStates from './0016_engine_states.ts'
import * as dashboard from './0017_dashboard.ts'
import * as feedReports from './0018_feed_reports.ts'
import * as operations from './0019_operations.ts'
import * as hostKeys from './0020_host_keys.ts'
import * as nodeKeys from './0022_node_keys.ts'
import * as reloads from './0024_reloads_and_provisioning.ts'
import * as nodeFacts from './0025_node_facts.ts'
import * as acme from './0026_acme.ts'
import * as slates from './0027_slates.ts'
import * as tokenRenditions from './0028_token_renditions.ts'
import * as cacheLogs from './0030_cache_logs.ts'
import * as encoders from './0031_encoders.ts'
import * as distributionCacheBytes from './0032_distribution_cache_bytes.ts'
import * as tokenEndAtExpiry from './0033_token_end_at_expiry.ts'
import * as streamNodes from './0034_stream_nodes.ts'

/** Every migration, in order. They only go forward; a released one is never edited. */
const MIGRATIONS: Record<string, (db: Kysely<unknown>, engine: DialectName) => Promise<void>> = {
  '0001_init': init.up,
  '0002_webhooks': webhooks.up,
  '0003_sessions': sessions.up,
  '0004_live': channels.up,
  '0005_runs': runs.up,
  '0006_recordings': recordings.up,
  '0007_served': served.up,
  '0008_node_urls': nodeUrls.up,
  '0009_viewed': viewed.up,
  '0011_sources': sources.up,
  '0012_access_log_repeats': accessLogRepeats.up,
  '0014_run_actors': runActors.up,
  '0015_channel_events': channelEvents.up,
  '0016_engine_states': engineStates.up,
  '0017_dashboard': dashboard.up,
  '0018_feed_reports': feedReports.up,
  '0019_operations': operations.up,
  '0020_host_keys': hostKeys.up,
  '0022_node_keys': nodeKeys.up,
  '0024_reloads_and_provisioning': reloads.up,
  '0025_node_facts': nodeFacts.up,
  '0026_acme': acme.up,
  '0027_slates': slates.up,
  '0028_token_renditions': tokenRenditions.up,
  '0030_cache_logs': cacheLogs.up,
  '0031_encoders': encoders.up,
  '0032_distribution_cache_bytes': distributionCacheBytes.up,
  '0033_token_end_at_expiry': tokenEndAtExpiry.up,
  '0034_stream_nodes': streamNodes.up,
}

/** The names of all migrations of this version. */
export const KNOWN_MIGRATIONS: ReadonlySet<string> = new Set(Object.keys(MIGRATIONS))

/** The database was written by a newer version of this program. */
export class DatabaseTooNew extends Error {
  override readonly name = 'DatabaseTooNew'
}

/**
 * Migrates the database to the schema of this version, in one transaction. Any number of processes may call it at once:
 * one migrates, the others wait and find nothing to do.
 * @throws DatabaseTooNew when the database has a migration of a newer version
 */
export async function migrate(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(migrations(engine)) } })
  await refuseNewer(db, migrator)
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

function migrations(engine: DialectName): Record<string, Migration> {
  return Object.fromEntries(
    Object.entries(MIGRATIONS).map(([name, up]) => [name, { up: (db: Kysely<unknown>) => up(db, engine) }]),
  )
}

async function refuseNewer(db: Kysely<unknown>, migrator: Migrator): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return
  const known = new Set((await migrator.getMigrations()).map((migration) => migration.name))
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  const unknown = rows.map((row) => row.name).filter((name) => !known.has(name))
  if (unknown.length > 0) {
    throw new DatabaseTooNew(
      `The database was written by a newer version (it has ${unknown.join(', ')}). Start that version, or restore a backup made before the upgrade.`,
    )
  }
}
