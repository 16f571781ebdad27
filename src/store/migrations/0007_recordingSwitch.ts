import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Whether users have a broadcast recorded. Recordings under way are found by their feed. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.addColumns('feeds', 'record_switch flag')
  await make.index('recordings_under_way', 'recordings', ['feed_id'], "state = 'recording'")
}
