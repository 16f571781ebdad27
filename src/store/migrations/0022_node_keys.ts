import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * The key that a serving node seals with, so that a rotation knows whether all nodes have the new one. A table of its own,
 * because nodes of the version before have prepared statements that read all columns of `serving_nodes`.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  await new Maker(db, engine).table('node_keys', 'node_id text key, key_id text')
}
