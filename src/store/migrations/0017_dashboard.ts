import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What signing in to the dashboard needs. Users from before become admins, and nodes of the version before still create
 * users without a role. Nodes of that version name the columns of `secrets` and `credentials` that they read. Only its
 * command line, which is a short process, reads all columns of `users`.
 */
export async function up(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  const make = new Maker(db, dialect)
  const [text, big] = dialect === 'postgres' ? (['text', 'bigint'] as const) : (['text', 'integer'] as const)
  await db.schema
    .alterTable('users')
    .addColumn('role', text, (column) => column.notNull().defaultTo('admin'))
    .execute()
  await make.index('users_account', 'users', ['account_id', 'id'])
  await db.schema.alterTable('secrets').addColumn('used_at_ms', big).execute()
  await db.schema.alterTable('credentials').addColumn('used_at_ms', big).execute()
  await make.table(
    'dashboard_sessions',
    `id serial, hash bytes, user_id big, created_at_ms big, seen_at_ms big, expires_at_ms big,
    address text, user_agent text`,
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
  const newest = ['at_ms', 'id']
  await make.index('audit_at', 'audit', ['account_id', ...newest])
  await make.index('audit_actor', 'audit', ['account_id', 'actor', ...newest])
  await make.index('audit_action', 'audit', ['account_id', 'action', ...newest])
  await passkeys(make)
}

async function passkeys(make: Maker): Promise<void> {
  await make.table(
    'passkeys',
    `id text key, user_id big, name text, public_key bytes, sign_count big, transports text, rp_id text,
    created_at_ms big, used_at_ms big null`,
  )
  await make.index('passkeys_user', 'passkeys', ['user_id', 'id'])
  await make.table('passkey_challenges', 'hash bytes key, expires_at_ms big')
  await make.index('passkey_challenges_expiry', 'passkey_challenges', ['expires_at_ms'])
}
