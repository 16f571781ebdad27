import { type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What players report, of each session and in the rows of the audience. There the wide `parts` becomes the last column again:
 * SQLite reads a column behind it through all of its pages.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.addColumns('sessions', 'quality text')
  await make.addColumn('audience', 'quality', 'text', '')
  await make.addColumn('audience', 'parts_behind', 'text', '')
  await sql`update audience set parts_behind = parts`.execute(db)
  await sql`alter table audience drop column parts`.execute(db)
  await sql`alter table audience rename column parts_behind to parts`.execute(db)
}
