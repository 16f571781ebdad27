import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * Renditions that publish tokens ask for. A table of its own, because nodes of the version before have prepared statements
 * that read all columns of `tokens`. Tokens without renditions have no row.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  await new Maker(db, engine).table('token_renditions', 'token_id token key, renditions text')
}
