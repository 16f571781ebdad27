import type { DB } from './schema.ts'

/**
 * The columns of every table. Statements name them, and never `*`: PostgreSQL refuses a prepared statement whose answer has
 * another shape than before (`0A000 cached plan must not change result type`), as soon as a newer node adds a column.
 */
// biome-ignore format: a line for each table
const COLUMNS = {
  abr_ladders: ['id', 'account_id', 'name', 'video', 'audio_kbps', 'audio_only', 'created_at_ms', 'updated_at_ms'],
  access_log: [
    'account_id', 'at_ms', 'id', 'source', 'action', 'protocol', 'stream_name', 'token_id', 'jti', 'address', 'origin',
    'country', 'allowed', 'code', 'message', 'count', 'last_at_ms', 'trace',
  ],
  account_minutes: ['account_id', 'minute_ms', 'node', 'viewers', 'bytes_in', 'bytes_out'],
  accounts: ['id', 'name', 'created_at_ms'],
  acme_renewals: ['id', 'leased_until_ms', 'due_at_ms', 'failures', 'problem'],
  acme_values: ['id', 'value_sealed', 'changed_at_ms'],
  audit: ['id', 'account_id', 'at_ms', 'actor', 'address', 'request_id', 'action', 'subject', 'before', 'after'],
  bindings: ['token_id', 'ord', 'address', 'first_used_at_ms', 'last_used_at_ms'],
  cache_logs: ['id', 'position', 'counted_at_ms'],
  changes: ['seq', 'xid', 'kind', 'account_id', 'ref_id', 'at_ms'],
  channel_events: ['id', 'account_id', 'at_ms', 'type', 'data'],
  channel_external_ids: ['account_id', 'external_id', 'channel_id'],
  channels: ['id', 'account_id', 'name', 'external_ids', 'timeout_seconds', 'status', 'created_at_ms', 'slate'],
  credentials: ['id', 'account_id', 'name', 'key', 'secret_hash', 'scope', 'created_at_ms', 'used_at_ms'],
  dashboard_sessions: [
    'id', 'hash', 'user_id', 'created_at_ms', 'seen_at_ms', 'expires_at_ms', 'address', 'user_agent',
  ],
  deliveries: [
    'id', 'event_id', 'webhook_id', 'account_id', 'type', 'event', 'subject', 'state', 'created_at_ms', 'started_at_ms',
    'ended_at_ms', 'status_code', 'duration_ms', 'answer', 'error', 'redelivery_of', 'node', 'attempt', 'not_before_ms',
  ],
  delivery_nodes: ['id', 'alive_until_ms'],
  delivery_payloads: ['id', 'data', 'body', 'content_type', 'headers'],
  distribution_bytes: [
    'distribution_id', 'slot_ms', 'country', 'tracking_id', 'account_id', 'channel_id', 'bytes_out', 'viewed_ms',
    'cache_bytes',
  ],
  distribution_keys: ['id', 'account_id', 'distribution_id', 'name', 'key_sealed', 'created_at_ms'],
  distributions: ['id', 'account_id', 'channel_id', 'name', 'rules', 'created_at_ms', 'updated_at_ms'],
  encoders: ['ingest_id', 'node', 'connected_at_ms', 'since_ms', 'alive_until_ms'],
  engine_states: [
    'engine_id', 'account_id', 'channel_id', 'wanted', 'idle_since_ms', 'failures', 'retry_at_ms', 'node',
    'alive_until_ms', 'run_id',
  ],
  engines: [
    'id', 'account_id', 'channel_id', 'ingest_id', 'name', 'region', 'abr_ladder_id', 'priority', 'status',
    'status_message', 'created_at_ms', 'updated_at_ms',
  ],
  feed_bytes: ['feed_id', 'node_id', 'bytes_out'],
  feeds: [
    'id', 'session_id', 'account_id', 'stream_name', 'source', 'token_id', 'secured', 'node', 'started_at_ms',
    'ended_at_ms', 'reading', 'most_viewers', 'bytes_out',
  ],
  ingests: ['id', 'account_id', 'channel_id', 'name', 'type', 'region', 'secret_sealed', 'key_hash', 'created_at_ms'],
  meta: ['key', 'value'],
  outbox: ['id', 'account_id', 'type', 'event', 'subject', 'data', 'created_at_ms'],
  passkey_challenges: ['hash', 'expires_at_ms'],
  passkeys: ['id', 'user_id', 'name', 'public_key', 'sign_count', 'transports', 'rp_id', 'created_at_ms', 'used_at_ms'],
  provisioned: ['account_id', 'kind', 'name', 'resource_id'],
  recordings: [
    'id', 'account_id', 'stream_name', 'token_id', 'feed_id', 'state', 'started_at_ms', 'ended_at_ms', 'bytes',
    'duration_ms', 'tracks', 'problem', 'host_key', 'node',
  ],
  reload_requests: ['id', 'node_id', 'is_check', 'asked_at_ms', 'answer'],
  revocations: ['token_id', 'jti', 'at_ms'],
  runs: [
    'id', 'account_id', 'channel_id', 'engine_id', 'config', 'start_type', 'start_id', 'start_name', 'stop_type',
    'stop_id', 'stop_name', 'kept_by', 'started_at_ms', 'ended_at_ms', 'heartbeat_at_ms',
  ],
  scheduler_skips: ['scheduler_id', 'start_ms', 'end_ms', 'at_ms', 'reason'],
  schedulers: [
    'id', 'account_id', 'name', 'enabled', 'start_date', 'start_time', 'end_date', 'end_time', 'recurrence',
    'time_zone', 'channels', 'status', 'occurrence_start_ms', 'occurrence_end_ms', 'seen_until_ms', 'next_at_ms',
    'created_at_ms', 'updated_at_ms',
  ],
  secrets: ['id', 'account_id', 'name', 'hash', 'hint', 'created_at_ms', 'refreshed_at_ms', 'used_at_ms'],
  serving_nodes: [
    'id', 'host_key', 'pid', 'seen_at_ms', 'alive_until_ms', 'url', 'key_id', 'version', 'cores', 'cpu_percent',
  ],
  sessions: [
    'id', 'action', 'protocol', 'account_id', 'stream_name', 'source_id', 'token_id', 'jti', 'tracking_id', 'address',
    'origin', 'country', 'node', 'feed_id', 'started_at_ms', 'ended_at_ms', 'end_reason', 'kick', 'bytes_in',
    'bytes_out', 'cache_bytes',
  ],
  setup_codes: ['hash', 'account_id', 'role', 'first_only', 'created_at_ms', 'expires_at_ms', 'used_at_ms'],
  slates: ['id', 'channel_id', 'media'],
  stream_nodes: ['account_id', 'stream_name', 'node_id', 'whep', 'hls', 'bitrate_out'],
  token_counts: ['account_id', 'kind', 'slot', 'n'],
  token_streams: ['token_id', 'ord', 'account_id', 'kind', 'stream_name', 'is_regex'],
  token_uses: ['token_id', 'account_id', 'kind', 'last_used_at_ms'],
  tokens: [
    'id', 'account_id', 'kind', 'label', 'streams', 'has_patterns', 'is_active', 'allowed_origins',
    'allowed_ip_addresses', 'bind_ips_on_usage', 'allowed_countries', 'denied_countries', 'end_sessions_on_update',
    'end_at_expiry', 'subscribe_requires_auth', 'record', 'enable_thumbnails', 'multisource', 'priority', 'renditions',
    'tracking_id', 'added_at_ms', 'expires_at_ms', 'version', 'revoked_before_ms', 'value_hash', 'value_sealed',
  ],
  usage_hourly: [
    'account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country', 'bytes_in', 'bytes_out',
    'cache_bytes',
  ],
  users: ['id', 'account_id', 'email', 'password_hash', 'role', 'created_at_ms'],
  viewing: ['account_id', 'stream_name', 'attempt_at_ms', 'viewed'],
  webhooks: [
    'id', 'account_id', 'url', 'secret_sealed', 'events', 'filter', 'failures_in_row', 'disabled_until_ms',
    'disabled_reason', 'added_at_ms', 'public_id', 'name', 'description', 'active', 'updated_at_ms', 'probed_at_ms',
  ],
} as const satisfies { readonly [T in keyof DB]: readonly (keyof DB[T])[] }

type Columns = typeof COLUMNS

/** The names of the columns of a table. */
export const namesOf = <T extends keyof DB>(table: T): Columns[T] => COLUMNS[table]

/** All columns of a table, for `select` and `returning`. */
export const columnsOf = <T extends keyof DB>(table: T): readonly `${T}.${Columns[T][number]}`[] =>
  COLUMNS[table].map((column) => `${table}.${column}` as const)
