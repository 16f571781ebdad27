import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What lists with filters and summaries need: the last use of a token, and the trace of a logged decision. The indexes
 * contain what filters and counts read, so that they read no row that they do not show.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await tokenUses(db, make)
  for (const name of ['tokens_by_label', 'tokens_by_added']) await db.schema.dropIndex(name).execute()
  for (const [name, key] of Object.entries({ label: 'label', added: 'added_at_ms' }))
    await make.index(`tokens_by_${name}`, 'tokens', ['account_id', 'kind', key, 'id', 'is_active', 'expires_at_ms'])
  await deliveries(make)
  await db.schema.alterTable('access_log').addColumn('trace', 'text').execute()
  await make.index('access_log_id', 'access_log', ['id'])
  await make.index('access_log_codes', 'access_log', ['account_id', 'at_ms', 'source', 'code', 'count'])
}

/**
 * A table of its own, because nodes of the version before have prepared statements that read all columns of `tokens`. A
 * trigger adds the rows, because those nodes create tokens too.
 */
async function tokenUses(db: Kysely<unknown>, make: Maker): Promise<void> {
  await make.table('token_uses', 'token_id token, account_id text, kind text, last_used_at_ms big', ['token_id'])
  await sql`insert into token_uses (token_id, account_id, kind, last_used_at_ms)
    select id, account_id, kind, 0 from tokens`.execute(db)
  await make.index('token_uses_order', 'token_uses', ['account_id', 'kind', 'last_used_at_ms', 'token_id'])
  const add =
    'insert into token_uses (token_id, account_id, kind, last_used_at_ms) values (new.id, new.account_id, new.kind, 0)'
  if (make.engine === 'sqlite') {
    await sql`create trigger token_uses_add after insert on tokens begin ${sql.raw(add)}; end`.execute(db)
    return
  }
  await sql`create function token_uses_add() returns trigger language plpgsql
    as $$ begin ${sql.raw(add)}; return new; end $$`.execute(db)
  await sql`create trigger token_uses_add after insert on tokens for each row execute function token_uses_add()`.execute(
    db,
  )
}

/** Most deliveries succeed, and are not in the index of the others. */
async function deliveries(make: Maker): Promise<void> {
  const undelivered = "state = 'failed' or state = 'skipped' or state = 'unknown'"
  await make.index('deliveries_undelivered', 'deliveries', ['webhook_id', 'state', 'id'], undelivered)
  await make.index('deliveries_type', 'deliveries', ['webhook_id', 'type', 'id'])
  await make.index('deliveries_again', 'deliveries', ['redelivery_of'], 'redelivery_of is not null')
}
