import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'
import { channelSchema } from './0001_channels.ts'
import { mediaSchema } from './0001_media.ts'
import { Maker } from './maker.ts'

/**
 * The schema of the first release. Columns that name a row of a table, such as `token`, are deleted with it.
 *
 * Tables with a key of their own are `without rowid` in SQLite: one B-tree instead of two. Indexes of lists have the order
 * of the list, so that all pages cost the same.
 */
export async function up(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  const make = new Maker(db, dialect)
  await people(make)
  await tokens(make)
  await tokenParts(db, make)
  await journals(make)
  await accessLog(make)
  await webhooks(make)
  await deliveries(db, make)
  await nodes(make)
  await mediaSchema(make)
  await channelSchema(make)
}

async function people(make: Maker): Promise<void> {
  await make.table(
    'accounts',
    `id text key, name text, created_at_ms big, allowed_countries text, denied_countries text, geo_cascade text null,
    default_cluster text null, recording_days big null, log_admissions flag, version big`,
  )
  await make.table(
    'secrets',
    `id serial, account_id text, name text, hash bytes, hint text, created_at_ms big, refreshed_at_ms big null,
    used_at_ms big null`,
  )
  await make.unique('secrets_name', 'secrets', ['account_id', 'name'])
  await make.unique('secrets_hash', 'secrets', ['hash'])
  await make.table(
    'credentials',
    `id serial, account_id text, name text, key text, secret_hash bytes, scope text, created_at_ms big,
    used_at_ms big null`,
  )
  await make.unique('credentials_key', 'credentials', ['key'])
  await make.index('credentials_account', 'credentials', ['account_id', 'id'])
  await make.table('users', 'id serial, account_id text, email text, password_hash text, role text, created_at_ms big')
  await make.unique('users_email', 'users', ['email'])
  await make.index('users_account', 'users', ['account_id', 'id'])
  await signIns(make)
}

async function signIns(make: Maker): Promise<void> {
  await make.table(
    'dashboard_sessions',
    `id serial, hash bytes, user_id user, created_at_ms big, seen_at_ms big, expires_at_ms big, address text,
    user_agent text`,
  )
  await make.unique('dashboard_sessions_hash', 'dashboard_sessions', ['hash'])
  await make.index('dashboard_sessions_user', 'dashboard_sessions', ['user_id', 'id'])
  await make.index('dashboard_sessions_seen', 'dashboard_sessions', ['seen_at_ms'])
  await make.table(
    'setup_codes',
    `hash bytes key, account_id text, role text, first_only flag, created_at_ms big, expires_at_ms big,
    used_at_ms big null`,
  )
  await make.index('setup_codes_expiry', 'setup_codes', ['expires_at_ms'])
  await make.table(
    'passkeys',
    `id text key, user_id user, name text, public_key bytes, sign_count big, transports text, rp_id text,
    created_at_ms big, used_at_ms big null`,
  )
  await make.index('passkeys_user', 'passkeys', ['user_id', 'id'])
  await make.table('passkey_challenges', 'hash bytes key, expires_at_ms big')
  await make.index('passkey_challenges_expiry', 'passkey_challenges', ['expires_at_ms'])
}

/** The indexes of lists contain what filters and counts read, so that they read no row that they do not show. */
async function tokens(make: Maker): Promise<void> {
  await make.table(
    'tokens',
    `id serial, account_id text, kind text, label text, streams text, has_patterns flag, is_active flag,
    allowed_origins text, allowed_ip_addresses text, bind_ips_on_usage big,
    allowed_countries text, denied_countries text, end_sessions_on_update flag, end_at_expiry flag,
    subscribe_requires_auth flag, record flag, enable_thumbnails flag, multisource flag, display_srt_passphrase flag,
    enable_utc_insertion flag, transcode flag, priority big null, renditions text, hls_codecs text, restream text,
    origin_cluster text null, geo_cascade text null, recording_days big null, tracking_id text null, max_viewers big,
    added_at_ms big, expires_at_ms big null, version big, revoked_before_ms big null, value_hash bytes, value_sealed bytes`,
  )
  await make.unique('tokens_value_hash', 'tokens', ['value_hash'])
  for (const [name, key] of Object.entries({ label: 'label', added: 'added_at_ms' }))
    await make.index(`tokens_by_${name}`, 'tokens', ['account_id', 'kind', key, 'id', 'is_active', 'expires_at_ms'])
  await make.index('tokens_expiring', 'tokens', ['account_id', 'expires_at_ms'], 'expires_at_ms is not null')
  const named = "(allowed_countries <> '[]' or denied_countries <> '[]')"
  await make.index('tokens_countries', 'tokens', ['account_id'], named)
  await make.table('token_counts', 'account_id text, kind text, slot big, n big', ['account_id', 'kind', 'slot'])
}

async function tokenParts(db: Kysely<unknown>, make: Maker): Promise<void> {
  await make.table(
    'token_streams',
    'token_id token, ord big, account_id text, kind text, stream_name text, is_regex flag',
    ['token_id', 'ord'],
  )
  // Only for publish tokens: which tokens may publish this name?
  await make.index(
    'token_streams_usable',
    'token_streams',
    ['account_id', 'is_regex', 'stream_name'],
    "kind = 'publish'",
  )
  await make.table('bindings', 'token_id token, ord big, address text, first_used_at_ms big, last_used_at_ms big', [
    'token_id',
    'address',
  ])
  await make.unique('bindings_ord', 'bindings', ['token_id', 'ord'])
  await make.table('revocations', 'token_id token, jti text, at_ms big', ['token_id', 'jti'])
  // With ids, because the rotation of the sealing key goes through them in their order.
  await make.table('restream_keys', 'id serial, token_id token, ord big, key_sealed bytes')
  await make.unique('restream_keys_ord', 'restream_keys', ['token_id', 'ord'])
  await make.table(
    'pulls',
    `id serial, account_id text, token_id token, stream_name text, label text, url_sealed bytes, shown_url text,
    enabled flag, run_when text, version big, added_at_ms big, demand_at_ms big, node text null, status text, since_ms big,
    retry_at_ms big null, problem text null, last_problem text null, last_problem_at_ms big null`,
  )
  await make.index('pulls_account', 'pulls', ['account_id', 'id'])
  await make.index('pulls_token', 'pulls', ['token_id'])
  await make.index('pulls_enabled', 'pulls', ['id'], 'enabled = 1')
  await tokenUses(db, make)
}

/**
 * Last uses are written in batches, once a minute. In the row of the token they would change all of its indexes each time,
 * and viewers that join with the token would wait for the batch, because they lock its row.
 */
async function tokenUses(db: Kysely<unknown>, make: Maker): Promise<void> {
  await make.table('token_uses', 'token_id token, account_id text, kind text, last_used_at_ms big', ['token_id'])
  await make.index('token_uses_order', 'token_uses', ['account_id', 'kind', 'last_used_at_ms', 'token_id'])
  const add =
    'insert into token_uses (token_id, account_id, kind, last_used_at_ms) values (new.id, new.account_id, new.kind, 0)'
  if (make.dialect === 'sqlite') {
    await sql`create trigger token_uses_add after insert on tokens begin ${sql.raw(add)}; end`.execute(db)
    return
  }
  await sql`create function token_uses_add() returns trigger language plpgsql
    as $$ begin ${sql.raw(add)}; return new; end $$`.execute(db)
  await sql`create trigger token_uses_add after insert on tokens for each row execute function token_uses_add()`.execute(
    db,
  )
}

async function journals(make: Maker): Promise<void> {
  const xid = make.dialect === 'postgres' ? 'xid xid,' : ''
  await make.table(
    'changes',
    `seq serial, ${xid} kind text, account_id text, ref_id big, stream_name text null, at_ms big`,
  )
  await make.index('changes_at', 'changes', ['at_ms'])
  if (make.dialect === 'postgres') await make.index('changes_xid', 'changes', ['xid'])
  await make.table(
    'outbox',
    'id serial, account_id text, type text, event text, subject text null, data text, created_at_ms big',
  )
  await make.table(
    'audit',
    `id serial, account_id text, at_ms big, actor text, address text null, request_id text null,
    action text, subject text, before text null, after text null`,
  )
  await make.index('audit_account', 'audit', ['account_id', 'id'])
  await make.index('audit_old', 'audit', ['at_ms'])
  const newest = ['at_ms', 'id']
  await make.index('audit_at', 'audit', ['account_id', ...newest])
  await make.index('audit_actor', 'audit', ['account_id', 'actor', ...newest])
  await make.index('audit_action', 'audit', ['account_id', 'action', ...newest])
  await make.table('meta', 'key text key, value big')
  await make.insertMeta('changes_floor', 'ping', 'audience_from')
  await make.table('provisioned', 'account_id text, kind text, name text, resource_id text', [
    'account_id',
    'kind',
    'name',
  ])
}

async function accessLog(make: Maker): Promise<void> {
  await make.table(
    'access_log',
    `account_id text, at_ms big, id text, source text, action text, protocol text, stream_name text,
    token_id big null, jti text null, address text, origin text null, country text null,
    allowed flag, code text null, message text, count big, last_at_ms big, trace text null`,
    ['account_id', 'at_ms', 'id'],
  )
  const newest = ['at_ms', 'id']
  await make.index('access_log_token', 'access_log', ['account_id', 'token_id', ...newest], 'token_id is not null')
  await make.index('access_log_stream', 'access_log', ['account_id', 'stream_name', ...newest])
  await make.index('access_log_address', 'access_log', ['account_id', 'address', ...newest])
  // Users search for refusals, the minority, by code; they find admissions by time.
  await make.index('access_log_code', 'access_log', ['account_id', 'code', ...newest], 'code is not null')
  await make.index('access_log_refused', 'access_log', ['account_id', ...newest], 'allowed = 0')
  // Contains what the counts of codes read.
  await make.index('access_log_codes', 'access_log', ['account_id', 'at_ms', 'source', 'code', 'count'])
  await make.index('access_log_id', 'access_log', ['id'])
  await make.index('access_log_at', 'access_log', ['at_ms'])
  await make.sizes('access_log', {
    access_log: '1000000 1000000 1 1',
    access_log_token: '1000000 1000000 100 1 1',
    access_log_stream: '1000000 1000000 1000 1 1',
    access_log_address: '1000000 1000000 100 1 1',
    access_log_code: '100000 100000 10000 1 1',
    access_log_refused: '100000 100000 1 1',
    access_log_codes: '1000000 1000000 1 1 1 1',
    access_log_id: '1000000 1',
    access_log_at: '1000000 1',
  })
}

/**
 * Webhooks of both interfaces, so that one runner delivers to all. Those of the channels interface have a public id and use
 * the columns after it.
 */
async function webhooks(make: Maker): Promise<void> {
  await make.table(
    'webhooks',
    `id serial, account_id text, url text, secret_sealed bytes, events text, filter text null, failures_in_row big,
    disabled_until_ms big null, disabled_reason text null, added_at_ms big, public_id text null, name text null,
    description text null, active flag null, updated_at_ms big null, probed_at_ms big null`,
  )
  await make.index('webhooks_account', 'webhooks', ['account_id', 'id'])
  await make.unique('webhooks_public_id', 'webhooks', ['public_id'])
  await make.index('webhooks_paused', 'webhooks', ['disabled_until_ms'], 'disabled_until_ms is not null')
}

/** The row of a delivery is written three times, so its large columns are in a table of their own, written twice. */
async function deliveries(db: Kysely<unknown>, make: Maker): Promise<void> {
  await make.table(
    'deliveries',
    `id text key, event_id text, webhook_id big, account_id text, type text, event text, subject text null, state text,
    created_at_ms big, started_at_ms big null, ended_at_ms big null, status_code big null, duration_ms big null,
    answer text null, error text null, redelivery_of text null, node text null, attempt big null, not_before_ms big null`,
  )
  const log = ['webhook_id', 'id']
  await make.index('deliveries_log', 'deliveries', log)
  await make.index('deliveries_type', 'deliveries', ['webhook_id', 'type', 'id'])
  // Most deliveries succeed, and are in none of these.
  await make.index('deliveries_pending', 'deliveries', log, "state = 'pending'")
  await make.index('deliveries_started', 'deliveries', log, "state = 'started'")
  await make.index('deliveries_waiting_for', 'deliveries', log, "state = 'waiting'")
  const undelivered = "state = 'failed' or state = 'skipped' or state = 'unknown'"
  await make.index('deliveries_undelivered', 'deliveries', ['webhook_id', 'state', 'id'], undelivered)
  await make.index('deliveries_waiting', 'deliveries', ['not_before_ms'], "state = 'waiting'")
  await make.index('deliveries_again', 'deliveries', ['redelivery_of'], 'redelivery_of is not null')
  await make.index('deliveries_created', 'deliveries', ['created_at_ms'])
  // The end stands in for skipped deliveries, which never started.
  await sql`create index deliveries_channel_log on deliveries (webhook_id, (coalesce(started_at_ms, ended_at_ms)), id)
    where type = 'channel'`.execute(db)
  await make.table(
    'delivery_payloads',
    'id text key, data text, body bytes null, content_type text null, headers text null',
  )
  await make.table('delivery_nodes', 'id text key, alive_until_ms big')
}

async function nodes(make: Maker): Promise<void> {
  await make.table(
    'serving_nodes',
    `id text key, host_key text, pid big, seen_at_ms big, alive_until_ms big, url text null, key_id text null,
    draining_since_ms big null`,
  )
  // Apart from the row of the node, whose lease is renewed by a thread that waits for no transaction of this one.
  await make.table(
    'node_facts',
    `node_id node, version text, cores big, cpu_percent big null, media_percent big null, egress_bitrate big null,
    full_reasons text null, links text null, region text null, rtmp_port big null, rtmps_port big null,
    reported_at_ms big null, media_ended_at_ms big null, media_ended_hung flag null, media_ended_sessions big null`,
    ['node_id'],
  )
  await make.table(
    'reload_requests',
    'id text key, node_id text, is_check flag, report text null, asked_at_ms big, answer text null',
  )
  await make.table('acme_values', 'id text key, value_sealed bytes, changed_at_ms big')
  await make.table(
    'acme_renewals',
    'id text key, leased_until_ms big null, due_at_ms big, failures big, problem text null',
  )
}
