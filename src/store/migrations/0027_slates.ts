import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * What a channel shows while there is no broadcast: what it is in a column of its own, JSON, and the file in another table.
 * Nodes of the version before name the columns of channels that they write, so they leave it as it is.
 */
export async function up(db: Kysely<unknown>, dialect: DialectName): Promise<void> {
  await db.schema.alterTable('channels').addColumn('slate', 'text').execute()
  const make = new Maker(db, dialect)
  await make.table('slates', 'id text key, channel_id text, media bytes')
  await make.unique('slates_channel', 'slates', ['channel_id'])
}
