import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'

/** Engines send what they make on to other servers. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('engines')
    .addColumn('restream', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
  const bytes = sql.raw(engine === 'postgres' ? 'bytea' : 'blob')
  await schema.alterTable('engines').addColumn('target_keys_sealed', bytes).execute()
}
