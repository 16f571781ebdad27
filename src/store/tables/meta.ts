import { sql } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import { databaseTime } from './now.ts'

export const META = { changesFloor: 'changes_floor', ping: 'ping' } as const

const renewNode = statement((db) => db.updateTable('meta').set({ value: sql`value + 1` }).where('key', '=', META.ping))

/** The smallest write. Unlike a read, it fails when the disk is full or the server is read-only. */
export async function writePing(executor: Executor): Promise<void> {
  await executor.run(renewNode, {})
}

const time = statement((db, _none: object, engine) => db.selectNoFrom(databaseTime(engine).as('now')))

export async function readTime(executor: Executor): Promise<number> {
  const row = await executor.first(time, {})
  if (!row) throw new Error('a select without a table returned no row')
  return row.now
}
