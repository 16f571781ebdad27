import { type RawBuilder, sql, type SqlBool } from 'kysely'

/**
 * The one way in which every list goes on: what lies beyond the sort key of the last item. It is a place in an index
 * and not a number of rows, so rows that come or go meanwhile shift nothing, and page 50,000 costs what page 1 costs.
 */
export function afterKey(
  columns: readonly string[],
  order: 'asc' | 'desc',
  position: readonly (string | number)[],
): RawBuilder<SqlBool> {
  const row = sql.join(columns.map((column) => sql.ref(column)))
  return sql`(${row}) ${sql.raw(order === 'asc' ? '>' : '<')} (${sql.join(position)})`
}
