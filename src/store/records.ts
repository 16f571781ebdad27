import type { Insertable, Kysely, SelectType } from 'kysely'
import { type Executor, inSlices, statement } from './executor.ts'
import { type DB, namesOf } from './schema.ts'

// Columns have the names of SQL and fields those of the interface: `account_id` is `accountId`. Statements select columns under
// the names of their fields, so that an answer is what the interface gives, but for columns of another type, such as JSON.

type Column<T extends keyof DB> = keyof DB[T] & string

/** The field of a column. */
export type FieldOf<C> = C extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<FieldOf<Rest>>}` : C

/** Columns are few, and each row that is written asks for them. */
const fields = new Map<string, string>()

export function fieldOf<C extends string>(column: C): FieldOf<C> {
  const field = fields.get(column) ?? column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  fields.set(column, field)
  return field as FieldOf<C>
}

/** A row, or some columns of it, by the names of its fields. */
export type FieldsOf<T extends keyof DB, C extends Column<T> = Column<T>> = {
  readonly [K in C as FieldOf<K>]: SelectType<DB[T][K]>
}

type Selected<T extends keyof DB, C extends Column<T>> = { [K in C]: `${T}.${K} as ${FieldOf<K>}` }[C]

/**
 * Columns for `select` and `returning`, by default all of the table, under the names of their fields. Statements name them, and
 * never `*`: PostgreSQL refuses a prepared statement whose answer has another shape than before (`0A000 cached plan must not
 * change result type`), as soon as a newer node adds a column.
 */
export const fieldsOf = <T extends keyof DB, C extends Column<T> = Column<T>>(
  table: T,
  columns: readonly C[] = namesOf(table) as readonly C[],
) => columns.map((column) => `${table}.${column} as ${fieldOf(column)}`) as Selected<T, C>[]

/** The values of these columns, from an object with their fields and perhaps others. */
export const rowOf = <T extends keyof DB, C extends Column<T>>(
  _table: T,
  columns: readonly C[],
  record: FieldsOf<T, C>,
): Pick<Insertable<DB[T]>, C & keyof Insertable<DB[T]>> => {
  const given = record as Record<string, unknown>
  return Object.fromEntries(columns.map((column) => [column, given[fieldOf(column)]])) as never
}

/** Stands for any table where only the names of columns matter. */
type AnyTable = Kysely<{ rows: Record<string, unknown> }>

/** Inserts rows into a table: one by a prepared statement, several by one statement for each slice of them. */
export function insertion<T extends keyof DB, C extends Column<T>>(
  table: T,
  columns: readonly C[],
): (executor: Executor, rows: readonly FieldsOf<T, C>[]) => Promise<void> {
  const into = (db: unknown) => (db as AnyTable).insertInto(table as unknown as 'rows')
  const one = statement((db, p: FieldsOf<T, C>) => into(db).values(rowOf(table, columns, p)))
  return async (executor, rows) => {
    const [only] = rows
    if (only && rows.length === 1) await executor.run(one, only)
    else
      await inSlices(rows, (slice) =>
        executor.change((db) => into(db).values(slice.map((row) => rowOf(table, columns, row)))),
      )
  }
}
