import { type RawBuilder, sql, type SqlBool } from 'kysely'

/**
 * Keyset pagination, used by every list: rows after the sort key of the last item. The key is a position in an index and
 * not an offset, so that rows that are added or deleted meanwhile shift nothing, and page 50,000 costs what page 1 costs.
 */
export function afterKey(
  columns: readonly string[],
  order: 'asc' | 'desc',
  position: readonly (string | number)[],
): RawBuilder<SqlBool> {
  const row = sql.join(columns.map((column) => sql.ref(column)))
  return sql`(${row}) ${sql.raw(order === 'asc' ? '>' : '<')} (${sql.join(position)})`
}
