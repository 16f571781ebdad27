import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** What the signer of a self-signed token says of its viewer. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  await new Maker(db, engine).addColumns('sessions', 'custom_viewer_data text null')
}
