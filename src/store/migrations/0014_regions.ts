import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** The region of a node, and when it last said how busy it is. */
export const up = (db: Kysely<unknown>, engine: DialectName): Promise<void> =>
  new Maker(db, engine).addColumns('node_facts', 'region text null, reported_at_ms big null')
