import { type AnyColumn, type AnyColumnWithTable, type SelectQueryBuilder, sql, type SqlBool } from 'kysely'

interface KeysetPage {
  /** The columns by which the list is sorted, as an index has them. The last one tells equal rows apart. */
  readonly by: readonly string[]
  readonly order: 'asc' | 'desc'
  /** The values of the last item before the page; absent: it is the first page. */
  readonly after: readonly (string | number)[] | undefined
  readonly limit: number
}

/**
 * Keyset pagination, used by every list: the first rows after the sort key of the last item. The key is a position in an index
 * and not an offset, so that rows that are added or deleted meanwhile shift nothing, and page 50,000 costs what page 1 costs.
 */
export function keysetPage<D, T extends keyof D, O>(
  rows: SelectQueryBuilder<D, T, O>,
  { by, order, after, limit }: KeysetPage,
): SelectQueryBuilder<D, T, O> {
  const columns = by.map((column) => sql.ref(column))
  const later = order === 'asc' ? sql`>` : sql`<`
  const rest = after && rows.where(sql<SqlBool>`(${sql.join(columns)}) ${later} (${sql.join(after)})`)
  return columns.reduce((sorted, column) => sorted.orderBy(column, order), rest ?? rows).limit(limit)
}

interface TimePage {
  readonly after?: { readonly atMs: number; readonly id: string | number }
  readonly limit: number
}

/** A page of a list that begins with the newest rows. */
export const newestFirst = <D, T extends keyof D, O>(
  rows: SelectQueryBuilder<D, T, O>,
  [time, id]: readonly [time: string, id: string],
  { after, limit }: TimePage,
): SelectQueryBuilder<D, T, O> =>
  keysetPage(rows, { by: [time, id], order: 'desc', after: after && [after.atMs, after.id], limit })

type ColumnOf<D, T extends keyof D> = AnyColumn<D, T> | AnyColumnWithTable<D, T>

/** Only rows with these values. One that is undefined lets all through. */
export const matching = <D, T extends keyof D, O>(
  rows: SelectQueryBuilder<D, T, O>,
  values: Readonly<Partial<Record<ColumnOf<D, T>, string | number | undefined>>>,
): SelectQueryBuilder<D, T, O> =>
  Object.entries<string | number | undefined>(values).reduce(
    (chosen, [column, value]) =>
      value === undefined ? chosen : chosen.where(sql<SqlBool>`${sql.ref(column)} = ${value}`),
    rows,
  )

/** Only rows of a time, which is half open, and may have no beginning or no end. */
export function within<D, T extends keyof D, O>(
  rows: SelectQueryBuilder<D, T, O>,
  column: ColumnOf<D, T>,
  { fromMs, untilMs }: { readonly fromMs?: number; readonly untilMs?: number },
): SelectQueryBuilder<D, T, O> {
  const later = fromMs === undefined ? rows : rows.where(sql<SqlBool>`${sql.ref(column)} >= ${fromMs}`)
  return untilMs === undefined ? later : later.where(sql<SqlBool>`${sql.ref(column)} < ${untilMs}`)
}
