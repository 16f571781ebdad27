import { type RawBuilder, sql } from 'kysely'
import type { DialectName, Executor } from './executor.ts'

type Value = string | number | null | undefined
type Row<C extends string> = Readonly<Partial<Record<C, Value>>>

/** PostgreSQL takes an array for each column, SQLite all rows as JSON. */
export type RowParams<C extends string> = Readonly<Partial<Record<C, readonly Value[]>>> & {
  readonly json?: string
}

/**
 * Rows as parameters of a statement whose text is always the same. PostgreSQL would spend most of its time parsing one with a
 * parameter for each value.
 */
export class RowTable<C extends string> {
  readonly #name: string
  readonly #columns: readonly (readonly [C, 'text' | 'bigint'])[]

  constructor(name: string, columns: Readonly<Record<C, 'text' | 'bigint'>>) {
    this.#name = name
    this.#columns = Object.entries(columns) as [C, 'text' | 'bigint'][]
  }

  /** What a statement reads it from. Columns that a row lacks are null. */
  from(p: RowParams<C>, dialect: DialectName): RawBuilder<unknown> {
    const name = sql.table(this.#name)
    if (dialect === 'sqlite') {
      const values = this.#columns.map(([column], at) => sql`value ->> ${sql.lit(at)} as ${sql.ref(column)}`)
      return sql`(select ${sql.join(values)} from json_each(${p.json})) as ${name}`
    }
    const arrays = this.#columns.map(([column, type]) => sql`cast(${p[column]} as ${sql.raw(type)}[])`)
    return sql`unnest(${sql.join(arrays)}) as ${name}(${this.names})`
  }

  /** Its columns, one after another. */
  get names(): RawBuilder<unknown> {
    return sql.join(this.#columns.map(([column]) => sql.ref(column)))
  }

  /** The parameters for these rows. */
  params({ engine }: Executor, rows: readonly Row<C>[]): RowParams<C> {
    const columns = this.#columns.map(([column]) => column)
    const params =
      engine.name === 'sqlite'
        ? { json: JSON.stringify(rows.map((row) => columns.map((column) => row[column]))) }
        : Object.fromEntries(columns.map((column) => [column, rows.map((row) => row[column])]))
    return params as RowParams<C>
  }
}
