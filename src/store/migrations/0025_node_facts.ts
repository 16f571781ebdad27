import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * The version of each serving node and the load of its machine, for a list of nodes. A table of its own, because nodes of
 * the version before have prepared statements that read all columns of `serving_nodes`.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  await new Maker(db, engine).table('node_facts', 'node_id text key, version text, cores big, cpu_percent big null')
}
