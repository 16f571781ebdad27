import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * The names, at that time, of the actors that started, stopped and kept a run: credentials get deleted, and their numbers
 * mean nothing to users. A table of its own, because nodes of the version before have prepared statements that read all
 * columns of `runs`.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.table('run_actors', 'run_id text key, start_name text null, stop_name text null, kept_by text null')
}
