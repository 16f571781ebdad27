import { type RawBuilder, sql } from 'kysely'
import { type DialectName, type Executor, inSlices, statement } from './executor.ts'
import { fieldOf, type FieldOf, type FieldsOf } from './records.ts'
import { type DB, namesOf, type SqlType, sqlTypesOf } from './schema.ts'

type Value = string | number | null | undefined
type Row<C extends string> = Readonly<Partial<Record<FieldOf<C>, Value>>>

/** PostgreSQL takes an array for each field, SQLite all rows as JSON. */
export type RowParams<C extends string> = Readonly<Partial<Record<FieldOf<C>, readonly Value[]>>> & {
  readonly json?: string
}

type ColumnTypes<C extends string> = Readonly<Record<C, SqlType>>

/**
 * Rows as parameters of a statement whose text is always the same. PostgreSQL would spend most of its time parsing one with a
 * parameter for each value.
 */
export class RowTable<C extends string> {
  readonly #name: string
  readonly #columns: readonly (readonly [C, SqlType])[]

  constructor(name: string, columns: ColumnTypes<C>) {
    this.#name = name
    this.#columns = Object.entries(columns) as [C, SqlType][]
  }

  /** What a statement reads it from. Columns that a row lacks are null. */
  from(p: RowParams<C>, dialect: DialectName): RawBuilder<unknown> {
    const name = sql.table(this.#name)
    if (dialect === 'sqlite') {
      const values = this.#columns.map(([column], at) => sql`value ->> ${sql.lit(at)} as ${sql.ref(column)}`)
      return sql`(select ${sql.join(values)} from json_each(${p.json})) as ${name}`
    }
    const arrays = this.#columns.map(([column, type]) => sql`cast(${p[fieldOf(column)]} as ${sql.raw(type)}[])`)
    return sql`unnest(${sql.join(arrays)}) as ${name}(${this.names})`
  }

  /**
   * The same for an update of the rows of a table that they name, which are locked in the order of their ids. PostgreSQL updates them
   * in the order in which it finds them, and two transactions that do so in different orders may be a deadlock.
   */
  locking(p: RowParams<C>, dialect: DialectName, table: keyof DB, name: C): RawBuilder<unknown> {
    const rows = this.from(p, dialect)
    if (dialect === 'sqlite') return rows
    const columns = sql.join(this.#columns.map(([column]) => sql.ref(`${this.#name}.${column}`)))
    return sql`(select ${columns} from ${rows} join ${sql.table(table)} as own on own.id = ${sql.ref(name)}
      order by own.id for no key update of own) as ${sql.table(this.#name)}`
  }

  /** Its columns, one after another. */
  get names(): RawBuilder<unknown> {
    return sql.join(this.#columns.map(([column]) => sql.ref(column)))
  }

  /** The parameters for these rows, which have the fields of the columns. */
  params({ dialect }: Executor, rows: readonly Row<C>[]): RowParams<C> {
    const fields = this.#columns.map(([column]) => fieldOf(column))
    const params =
      dialect.name === 'sqlite'
        ? { json: JSON.stringify(rows.map((row) => fields.map((field) => row[field]))) }
        : Object.fromEntries(fields.map((field) => [field, rows.map((row) => row[field])]))
    return params as RowParams<C>
  }
}

interface Upsert<N extends keyof DB> {
  readonly table: N
  readonly key: readonly (keyof DB[N] & string)[]
  /** What a column of a row that exists becomes; by default the new value. */
  readonly merged?: (before: RawBuilder<unknown>, now: RawBuilder<unknown>) => RawBuilder<unknown>
}

/** Writes rows of a table without nulls, also those whose key exists already. */
export function upsertion<N extends keyof DB>({
  table,
  key,
  merged = (_, now) => now,
}: Upsert<N>): (executor: Executor, rows: readonly FieldsOf<N>[]) => Promise<void> {
  const fresh = new RowTable('fresh', sqlTypesOf(table))
  const values = namesOf(table).filter((column) => !key.includes(column))
  const sets = values.map((column) => {
    const value = merged(sql.ref(`${table}.${column}`), sql.ref(`excluded.${column}`))
    return sql`${sql.ref(column)} = ${value}`
  })
  const put = statement(
    (_, p: RowParams<keyof DB[N] & string>, dialect) =>
      // Without its condition, SQLite would take `on conflict` for that of a join.
      sql`insert into ${sql.table(table)} (${fresh.names}) select ${fresh.names} from ${fresh.from(p, dialect)} where true
        on conflict (${sql.join(key.map((column) => sql.ref(column)))}) do update set ${sql.join(sets)}`,
  )
  return (executor, rows) =>
    inSlices(rows, (slice) =>
      executor.run(put, fresh.params(executor, slice as unknown as Row<keyof DB[N] & string>[])),
    )
}

/** As totals only rise, also of those: a write whose answer was lost may reach the database after a later one. */
export const larger = (one: RawBuilder<unknown>, other: RawBuilder<unknown>): RawBuilder<number> =>
  sql`case when ${other} > ${one} then ${other} else ${one} end`
