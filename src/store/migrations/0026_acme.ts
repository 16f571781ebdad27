import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What ACME needs on all nodes: accounts, certificates and the answers to challenges; and of each certificate, which
 * renewal is under way and when the next may begin.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const maker = new Maker(db, engine)
  await maker.table('acme_values', 'id text key, value_sealed bytes, changed_at_ms big')
  await maker.table(
    'acme_renewals',
    'id text key, leased_until_ms big null, due_at_ms big, failures big, problem text null',
  )
}
