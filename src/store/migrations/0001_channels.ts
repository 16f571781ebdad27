import type { Maker } from './maker.ts'

/** Channels, their parts, runs and schedulers. */
export async function channelSchema(make: Maker): Promise<void> {
  await channelRows(make)
  await engines(make)
  await distributions(make)
  await runs(make)
  await schedulers(make)
}

async function channelRows(make: Maker): Promise<void> {
  await make.table(
    'channels',
    `id text key, account_id text, name text, external_ids text, timeout_seconds big, status text, created_at_ms big,
    slate text null`,
  )
  const newest = ['created_at_ms', 'id']
  await make.index('channels_newest', 'channels', ['account_id', ...newest])
  await make.index('channels_status', 'channels', ['account_id', 'status', ...newest])
  await make.index('channels_name', 'channels', ['account_id', 'name', ...newest])
  await make.table('channel_external_ids', 'account_id text, external_id text, channel_id channel', [
    'account_id',
    'external_id',
  ])
  await make.index('channel_external_ids_channel', 'channel_external_ids', ['channel_id'])
  await make.table('slates', 'id text key, channel_id channel, media bytes')
  await make.unique('slates_channel', 'slates', ['channel_id'])
  await make.table('channel_events', 'id text key, account_id text, at_ms big, type text, data text')
  await make.index('channel_events_account', 'channel_events', ['account_id', 'at_ms', 'id'])
  await make.index('channel_events_at', 'channel_events', ['at_ms'])
}

async function engines(make: Maker): Promise<void> {
  await make.table(
    'ingests',
    `id text key, account_id text, channel_id channel, name text, type text, region text, audio text,
    secret_sealed bytes, key_hash bytes null, created_at_ms big`,
  )
  await make.index('ingests_channel', 'ingests', ['channel_id', 'created_at_ms', 'id'])
  await make.unique('ingests_key_hash', 'ingests', ['key_hash'])
  await make.table(
    'ingest_claims',
    'ingest_id text key, node text, connected_at_ms big, since_ms big, alive_until_ms big',
  )
  await make.table(
    'engines',
    `id text key, account_id text, channel_id channel, ingest_id text null, name text, region text,
    abr_ladder_id text, priority big, status text, status_message text null, status_sentences text null,
    created_at_ms big, updated_at_ms big, restream text, target_keys_sealed bytes null`,
  )
  await make.index('engines_channel', 'engines', ['channel_id', 'created_at_ms', 'id'])
  await make.index('engines_ingest', 'engines', ['ingest_id', 'created_at_ms', 'id'], 'ingest_id is not null')
  await make.index('engines_ladder', 'engines', ['abr_ladder_id'])
  await make.index('engines_unstopped', 'engines', ['status'], "status <> 'stopped'")
  await make.table(
    'abr_ladders',
    `id text key, account_id text, name text, video text, audio_kbps big null, audio_only flag, created_at_ms big,
    updated_at_ms big`,
  )
  await make.index('abr_ladders_account', 'abr_ladders', ['account_id', 'created_at_ms', 'id'])
}

/**
 * Bytes are counted by the quarter of an hour, the smallest difference between time zones, and by channel, so that those of
 * a deleted distribution still count for its channel.
 */
async function distributions(make: Maker): Promise<void> {
  await make.table(
    'distributions',
    'id text key, account_id text, channel_id channel, name text, rules text, created_at_ms big, updated_at_ms big',
  )
  await make.index('distributions_channel', 'distributions', ['channel_id', 'name', 'id'])
  await make.table(
    'distribution_keys',
    `id text key, account_id text, distribution_id distribution, name text null, key_sealed bytes, created_at_ms big`,
  )
  await make.index('distribution_keys_distribution', 'distribution_keys', ['distribution_id', 'id'])
  await make.table(
    'distribution_bytes',
    `distribution_id text, slot_ms big, country text, tracking_id text, account_id text, channel_id text,
    bytes_out big, viewed_ms big, cache_bytes big`,
    ['distribution_id', 'slot_ms', 'country', 'tracking_id'],
  )
  await make.index('distribution_bytes_channel', 'distribution_bytes', ['channel_id', 'slot_ms'])
  await make.index('distribution_bytes_slot', 'distribution_bytes', ['slot_ms'])
}

/** The names of actors are of that time: credentials get deleted, and their numbers mean nothing to users. */
async function runs(make: Maker): Promise<void> {
  await make.table(
    'engine_states',
    `engine_id text key, account_id text, channel_id text, wanted flag, idle_since_ms big null, failures big,
    retry_at_ms big null, node text null, alive_until_ms big null, run_id text null`,
  )
  await make.index('engine_states_channel', 'engine_states', ['channel_id'])
  // Searched every second, among the states of all engines that ever ran.
  await make.index('engine_states_wanted', 'engine_states', ['wanted'], 'wanted = 1')
  await make.index('engine_states_node', 'engine_states', ['node'])
  await make.table(
    'runs',
    `id text key, account_id text, channel_id text, engine_id text, config text, start_type text, start_id text,
    start_name text null, stop_type text null, stop_id text null, stop_name text null, kept_by text null,
    started_at_ms big, ended_at_ms big null, heartbeat_at_ms big`,
  )
  await make.index('runs_channel', 'runs', ['channel_id', 'started_at_ms', 'id'])
  await make.index('runs_engine', 'runs', ['engine_id', 'started_at_ms', 'id'])
  await make.index('runs_ended', 'runs', ['ended_at_ms'], 'ended_at_ms is not null')
}

async function schedulers(make: Maker): Promise<void> {
  await make.table(
    'schedulers',
    `id text key, account_id text, name text, enabled flag, start_date text, start_time text, end_date text null,
    end_time text null, recurrence text null, time_zone text, channels text, status text, occurrence_start_ms big null,
    occurrence_end_ms big null, seen_until_ms big, next_at_ms big null, created_at_ms big, updated_at_ms big`,
  )
  for (const column of ['created_at_ms', 'name', 'status', 'start_date', 'start_time']) {
    await make.index(`schedulers_${column}`, 'schedulers', ['account_id', column, 'id'])
  }
  await make.index('schedulers_due', 'schedulers', ['next_at_ms'], 'next_at_ms is not null')
  await make.table('scheduler_skips', 'scheduler_id scheduler, start_ms big, end_ms big null, at_ms big, reason text', [
    'scheduler_id',
    'start_ms',
  ])
  await make.index('scheduler_skips_at', 'scheduler_skips', ['at_ms'])
}
