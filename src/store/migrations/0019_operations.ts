import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * The last use of a token, and indexes for lists with filters. The indexes of the token list get the columns of the
 * filters, so that a filtered page reads no row that it does not show.
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
}
