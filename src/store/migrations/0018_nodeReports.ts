import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** What operators ask of a node besides to reload, and the message of an engine as data. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.addColumns('reload_requests', 'report text null')
  await make.addColumns('engines', 'status_sentences text null')
}
