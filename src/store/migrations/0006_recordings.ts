import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Recordings; their media are files outside the database. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.table(
    'recordings',
    `id text key, account_id text, stream_name text, token_id big, feed_id text, state text, started_at_ms big,
    ended_at_ms big null, bytes big null, duration_ms big null, tracks text, problem text null, place text, node text`,
  )
  await make.index('recordings_account', 'recordings', ['account_id', 'id'])
  await make.index('recordings_stream', 'recordings', ['account_id', 'stream_name', 'id'])
  await make.index('recordings_token', 'recordings', ['account_id', 'token_id', 'id'])
  await make.index('recordings_unfinished', 'recordings', ['place'], "state in ('recording', 'processing', 'deleting')")
}
