import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** The first schema. Tables with a key of their own are `without rowid` in SQLite: one B-tree instead of two. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await people(make)
  await tokens(make)
  await tokenParts(make)
  await journals(make)
  await accessLog(make)
}

async function people(make: Maker): Promise<void> {
  await make.table('accounts', 'id text key, name text, created_at_ms big')
  await make.table(
    'secrets',
    'id serial, account_id text, name text, hash bytes, hint text, created_at_ms big, refreshed_at_ms big null',
  )
  await make.unique('secrets_name', 'secrets', ['account_id', 'name'])
  await make.unique('secrets_hash', 'secrets', ['hash'])
  await make.table(
    'credentials',
    'id serial, account_id text, name text, key text, secret_hash bytes, scope text, created_at_ms big',
  )
  await make.unique('credentials_key', 'credentials', ['key'])
  await make.index('credentials_account', 'credentials', ['account_id', 'id'])
  await make.table('users', 'id serial, account_id text, email text, password_hash text, created_at_ms big')
  await make.unique('users_email', 'users', ['email'])
}

async function tokens(make: Maker): Promise<void> {
  await make.table(
    'tokens',
    `id serial, account_id text, kind text, label text, streams text, has_patterns flag, is_active flag,
    allowed_origins text, allowed_ip_addresses text, bind_ips_on_usage big,
    allowed_countries text, denied_countries text, end_sessions_on_update flag, subscribe_requires_auth flag,
    record flag, enable_thumbnails flag, multisource flag, priority big null, tracking_id text null,
    added_at_ms big, expires_at_ms big null, version big, revoked_before_ms big null,
    value_hash bytes, value_sealed bytes`,
  )
  await make.unique('tokens_value_hash', 'tokens', ['value_hash'])
  // The two orders of the list. They include the id, so that skipping to a page never reads the rows themselves.
  await make.index('tokens_by_label', 'tokens', ['account_id', 'kind', 'label', 'id'])
  await make.index('tokens_by_added', 'tokens', ['account_id', 'kind', 'added_at_ms', 'id'])
  await make.table('token_counts', 'account_id text, kind text, slot big, n big', ['account_id', 'kind', 'slot'])
}

async function tokenParts(make: Maker): Promise<void> {
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
}

async function journals(make: Maker): Promise<void> {
  const xid = make.engine === 'postgres' ? 'xid xid,' : ''
  await make.table('changes', `seq serial, ${xid} kind text, account_id text, ref_id big, at_ms big`)
  await make.index('changes_at', 'changes', ['at_ms'])
  if (make.engine === 'postgres') await make.index('changes_xid', 'changes', ['xid'])
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
  await make.table('meta', 'key text key, value big')
  await make.insertMeta('changes_floor', 'ping')
}

async function accessLog(make: Maker): Promise<void> {
  await make.table(
    'access_log',
    `account_id text, at_ms big, id text, source text, action text, protocol text, stream_name text,
    token_id big null, jti text null, address text, origin text null, country text null,
    allowed flag, code text null, message text`,
    ['account_id', 'at_ms', 'id'],
  )
  const newest = ['at_ms', 'id']
  await make.index('access_log_token', 'access_log', ['account_id', 'token_id', ...newest], 'token_id is not null')
  await make.index('access_log_stream', 'access_log', ['account_id', 'stream_name', ...newest])
  await make.index('access_log_address', 'access_log', ['account_id', 'address', ...newest])
  // Users search for refusals, the minority, by code; they find admissions by time.
  await make.index('access_log_code', 'access_log', ['account_id', 'code', ...newest], 'code is not null')
  await make.index('access_log_refused', 'access_log', ['account_id', ...newest], 'allowed = 0')
  await make.index('access_log_at', 'access_log', ['at_ms'])
}
