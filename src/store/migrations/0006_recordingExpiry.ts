import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** When a recording is deleted, and how long those of an account are kept. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.addColumns('accounts', 'recording_days big')
  await make.addColumns('recordings', 'expires_at_ms big')
  const finished = "expires_at_ms is not null and state in ('completed', 'error')"
  await make.index('recordings_expiry', 'recordings', ['expires_at_ms'], finished)
}
