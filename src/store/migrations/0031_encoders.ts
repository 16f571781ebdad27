import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** The newest encoder of each push ingest, with the node that it is connected to. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const columns = 'ingest_id text key, node text, connected_at_ms big, since_ms big, alive_until_ms big'
  await new Maker(db, engine).table('encoders', columns)
}
