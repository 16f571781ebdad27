import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** The audio tracks of a source that viewers of a channel choose from. */
export const up = (db: Kysely<unknown>, engine: DialectName): Promise<void> =>
  new Maker(db, engine).addColumn('ingests', 'audio', 'text', '[]')
