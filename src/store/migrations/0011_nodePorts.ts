import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Nodes say on which ports they take RTMP, for publishers of a node that drains. */
export const up = (db: Kysely<unknown>, engine: DialectName): Promise<void> =>
  new Maker(db, engine).addColumns('node_facts', 'rtmp_port big null, rtmps_port big null')
