import { sql } from 'kysely'
import { type Statement, statement } from '../executor.ts'
import type { DB } from '../schema.ts'

/**
 * Deletes at most `limit` rows whose `time` is before `beforeMs`, the oldest first, so that no statement locks many rows or
 * takes long. An index of the table begins with `time`. `key` names a row. What another transaction has locked, such as a node that
 * prunes too, is left to the next time, so that none waits for another with rows locked.
 */
export function pruning<N extends keyof DB>(
  table: N,
  time: keyof DB[N] & string,
  key: readonly (keyof DB[N] & string)[],
): Statement<{ beforeMs: number; limit: number }, unknown> {
  const columns = (prefix: string) => sql.join(key.map((column) => sql.ref(`${prefix}.${column}`)))
  const at = sql.ref(`old.${time}`)
  return statement(
    (
      _,
      p: { beforeMs: number; limit: number },
      dialect,
    ) => sql`delete from ${sql.table(table)} where (${columns(table)}) in (select ${columns('old')}
        from ${sql.table(table)} as old where ${at} < ${p.beforeMs} order by ${at} limit ${p.limit}
        ${sql.raw(dialect === 'postgres' ? 'for update skip locked' : '')})`,
  )
}
