import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** A publish token names the regions that its media goes to, and so does each of its feeds. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const maker = new Maker(db, engine)
  await maker.addColumns('tokens', 'geo_cascade text null')
  await maker.addColumns('feeds', 'regions text null')
}
