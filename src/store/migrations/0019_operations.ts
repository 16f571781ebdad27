import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What lists with filters and summaries need: the last use of a token, and the trace of a logged decision. The indexes
 * contain what filters and counts read, so that they read no row that they do not show.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await db.schema
    .alterTable('tokens')
    .addColumn('last_used_at_ms', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  for (const name of ['tokens_by_label', 'tokens_by_added']) await db.schema.dropIndex(name).execute()
  const orders = { label: 'label', added: 'added_at_ms', used: 'last_used_at_ms' }
  for (const [name, key] of Object.entries(orders))
    await make.index(`tokens_by_${name}`, 'tokens', ['account_id', 'kind', key, 'id', 'is_active', 'expires_at_ms'])
  await db.schema.alterTable('access_log').addColumn('trace', 'text').execute()
  // Most deliveries succeed, and are not in the index of the others.
  const undelivered = "state = 'failed' or state = 'skipped' or state = 'unknown'"
  await make.index('deliveries_undelivered', 'deliveries', ['webhook_id', 'state', 'id'], undelivered)
  await make.index('deliveries_type', 'deliveries', ['webhook_id', 'type', 'id'])
  await make.index('deliveries_again', 'deliveries', ['redelivery_of'], 'redelivery_of is not null')
  await make.index('access_log_codes', 'access_log', ['account_id', 'at_ms', 'source', 'code', 'count'])
}
