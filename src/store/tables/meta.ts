import { sql } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import { databaseTime } from './now.ts'

export const META = {
  audienceFrom: 'audience_from',
  changesFloor: 'changes_floor',
  ping: 'ping',
  start: 'start',
} as const

const renewNode = statement((db) => db.updateTable('meta').set({ value: sql`value + 1` }).where('key', '=', META.ping))

/** The smallest write. Unlike a read, it fails when the disk is full or the server is read-only. */
export async function writePing(executor: Executor): Promise<void> {
  await executor.run(renewNode, {})
}

const start = statement((db, p: { least: number; step: number }) =>
  db
    .insertInto('meta')
    .values({ key: META.start, value: p.least })
    .onConflict((c) =>
      c.column('key').doUpdateSet({
        value: sql`case when meta.value + ${p.step} < excluded.value then excluded.value else meta.value + ${p.step} end`,
      }),
    )
    .returning('value'),
)

/** A number above the one that this returned before, by at least `step`, and not below `least`. */
export async function nextStart(executor: Executor, least: number, step: number): Promise<number> {
  const row = await executor.first(start, { least, step })
  if (!row) throw new Error('a number was written and not returned')
  return row.value
}

const time = statement((db, _none: object, dialect) => db.selectNoFrom(databaseTime(dialect).as('now')))

export async function readTime(executor: Executor): Promise<number> {
  const row = await executor.first(time, {})
  if (!row) throw new Error('a select without a table returned no row')
  return row.now
}
