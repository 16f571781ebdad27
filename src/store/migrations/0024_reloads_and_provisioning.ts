import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * Requests of `sluice reload` to a serving node, with the answer, and what files of `provision/` made: the row of a name in
 * them.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const maker = new Maker(db, engine)
  await maker.table('reload_requests', 'id text key, node_id text, is_check flag, asked_at_ms big, answer text null')
  await maker.table('provisioned', 'account_id text, kind text, name text, resource_id text', [
    'account_id',
    'kind',
    'name',
  ])
}
