import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** A publish token names the region that takes its publishers, or its account does. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const maker = new Maker(db, engine)
  await maker.addColumns('tokens', 'origin_cluster text null')
  await maker.addColumns('accounts', 'default_cluster text null')
}
