import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Channels and their parts. The indexes have the orders of the lists, so that all pages cost the same. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await channels(make)
  await parts(make)
  await distributions(make)
}

async function channels(make: Maker): Promise<void> {
  await make.table(
    'channels',
    'id text key, account_id text, name text, external_ids text, timeout_seconds big, status text, created_at_ms big',
  )
  const newest = ['created_at_ms', 'id']
  await make.index('channels_newest', 'channels', ['account_id', ...newest])
  await make.index('channels_status', 'channels', ['account_id', 'status', ...newest])
  await make.index('channels_name', 'channels', ['account_id', 'name', ...newest])
  await make.table('channel_external_ids', 'account_id text, external_id text, channel_id text', [
    'account_id',
    'external_id',
  ])
  await make.index('channel_external_ids_channel', 'channel_external_ids', ['channel_id'])
}

async function parts(make: Maker): Promise<void> {
  await make.table(
    'ingests',
    `id text key, account_id text, channel_id text, name text, type text, region text, secret_sealed bytes,
    key_hash bytes null, created_at_ms big`,
  )
  await make.index('ingests_channel', 'ingests', ['channel_id', 'created_at_ms', 'id'])
  await make.unique('ingests_key_hash', 'ingests', ['key_hash'])
  await make.table(
    'engines',
    `id text key, account_id text, channel_id text, ingest_id text null, name text, region text, abr_ladder_id text,
    priority big, status text, status_message text null, created_at_ms big, updated_at_ms big`,
  )
  await make.index('engines_channel', 'engines', ['channel_id', 'created_at_ms', 'id'])
  await make.index('engines_ingest', 'engines', ['ingest_id', 'created_at_ms', 'id'], 'ingest_id is not null')
  await make.index('engines_ladder', 'engines', ['abr_ladder_id'])
  await make.index('engines_unstopped', 'engines', ['status'], "status <> 'stopped'")
  await make.table(
    'abr_ladders',
    `id text key, account_id text, name text, video text, audio_kbps big null, created_at_ms big, updated_at_ms big`,
  )
  await make.index('abr_ladders_account', 'abr_ladders', ['account_id', 'created_at_ms', 'id'])
}

async function distributions(make: Maker): Promise<void> {
  await make.table(
    'distributions',
    'id text key, account_id text, channel_id text, name text, rules text, created_at_ms big, updated_at_ms big',
  )
  await make.index('distributions_channel', 'distributions', ['channel_id', 'name', 'id'])
  await make.table(
    'distribution_keys',
    'id text key, account_id text, distribution_id text, name text null, key_sealed bytes, created_at_ms big',
  )
  await make.index('distribution_keys_distribution', 'distribution_keys', ['distribution_id', 'id'])
  await make.table(
    'distribution_bytes',
    'distribution_id text, hour_ms big, country text, tracking_id text, account_id text, bytes_out big',
    ['distribution_id', 'hour_ms', 'country', 'tracking_id'],
  )
  await make.index('distribution_bytes_account', 'distribution_bytes', ['account_id', 'hour_ms'])
}
