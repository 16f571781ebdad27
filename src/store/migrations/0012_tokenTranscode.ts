import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Whether viewers without the codec of a broadcast get H.264. */
export const up = (db: Kysely<unknown>, engine: DialectName): Promise<void> =>
  new Maker(db, engine).addColumn('tokens', 'transcode', 'flag', '0')
