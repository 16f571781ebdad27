import type { Compilable, CompiledQuery, Kysely, RawBuilder } from 'kysely'
import type { DB } from './schema.ts'

export type DialectName = 'sqlite' | 'postgres'

/** A database product: its name, and the query builder that writes its dialect. The builder compiles; it never connects. */
export interface SqlDialect {
  readonly name: DialectName
  readonly db: Kysely<DB>
}

/** A compiled query. `name` is set when the text never changes, so that a server may prepare it under that name. */
export interface Query {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly name?: string
}

/** `changed` counts the rows that the query wrote or, when it returns rows, returned. */
export interface QueryAnswer {
  readonly rows: unknown[]
  readonly changed: number
}

/** A query with named parameters, compiled once per SQL dialect. */
export type Statement<P, R> = (dialect: SqlDialect, params: P) => Query & { readonly row?: R }

/** A query of the builder, or one of SQL. */
type Written<R> = Compilable<R> | RawBuilder<R>

type Build<R> = (db: Kysely<DB>, dialect: DialectName) => Written<R>

/** A query of the builder ignores `db`, which has made it. */
const compile = <R>(query: Written<R>, db: Kysely<DB>): CompiledQuery<R> => (query as RawBuilder<R>).compile(db)

/** Runs queries on a connection, a pool or a transaction. The tables depend on nothing else. */
export abstract class Executor {
  readonly dialect: SqlDialect

  constructor(dialect: SqlDialect) {
    this.dialect = dialect
  }

  abstract execute(query: Query): Promise<QueryAnswer>

  /** The rows of a prepared statement. */
  all<P, R>(statement: Statement<P, R>, params: P): Promise<R[]> {
    return this.execute(statement(this.dialect, params)).then((answer) => answer.rows as R[])
  }

  /** The first row of a prepared statement. */
  first<P, R>(statement: Statement<P, R>, params: P): Promise<R | undefined> {
    return this.execute(statement(this.dialect, params)).then((answer) => answer.rows[0] as R | undefined)
  }

  /** Runs a prepared statement; returns how many rows it wrote. */
  run<P>(statement: Statement<P, unknown>, params: P): Promise<number> {
    return this.execute(statement(this.dialect, params)).then((answer) => answer.changed)
  }

  /** The rows of a query whose shape depends on its input. */
  ask<R>(build: Build<R>): Promise<R[]> {
    return this.#write(build).then((answer) => answer.rows as R[])
  }

  /** The same for many values, with a query for each slice of them. */
  async askInSlices<T, R>(
    values: readonly T[],
    build: (db: Kysely<DB>, slice: T[], dialect: DialectName) => Written<R>,
  ): Promise<R[]> {
    const rows: R[] = []
    await inSlices(values, async (slice) => {
      rows.push(...(await this.ask((db, dialect) => build(db, slice, dialect))))
    })
    return rows
  }

  /** Runs a query whose shape depends on its input; returns how many rows it wrote. */
  change(build: Build<unknown>): Promise<number> {
    return this.#write(build).then((answer) => answer.changed)
  }

  #write(build: Build<unknown>): Promise<QueryAnswer> {
    const { db, name } = this.dialect
    return this.execute(compile(build(db, name), db))
  }
}

/** A placeholder for a parameter while a statement is compiled. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })

/** All of them, for tests that run each. */
const statements: ((dialect: SqlDialect) => Query)[] = []

export const everyStatement = (dialect: SqlDialect): Query[] => statements.map((compile) => compile(dialect))

/**
 * Compiles a query once per SQL dialect, which makes it nearly as cheap as raw prepared SQL (compiling costs more than the
 * query itself). `build` uses the properties of `params` as values; each run supplies their contents.
 */
export function statement<P extends object, R>(
  build: (db: Kysely<DB>, params: P, dialect: DialectName) => Written<R>,
): Statement<P, R> {
  const name = `sluice_${statements.length + 1}`
  const compiled = new Map<DialectName, Query>()
  const queryOf = (dialect: SqlDialect): Query => {
    let query = compiled.get(dialect.name)
    if (!query) {
      query = { ...compile(build(dialect.db, placeholders as P, dialect.name), dialect.db), name }
      compiled.set(dialect.name, query)
    }
    return query
  }
  statements.push(queryOf)
  return (dialect, params) => {
    const { sql, parameters } = queryOf(dialect)
    return { sql, parameters: fill(parameters, params), name }
  }
}

/** Replaces the placeholders with the values of a run; constants of the query stay. */
function fill(parameters: readonly unknown[], params: object): unknown[] {
  const given = params as Record<string, unknown>
  return parameters.map((value) => (value instanceof Placeholder ? given[value.name] : value))
}

/** Runs `insert` for slices of `rows`, so that no statement exceeds a database's limit of parameters. */
export async function inSlices<T>(
  rows: readonly T[],
  insert: (slice: T[]) => Promise<unknown>,
  size = 100,
): Promise<void> {
  for (let at = 0; at < rows.length; at += size) await insert(rows.slice(at, at + size))
}

/** The row that an insertion returned. */
export function inserted<R>(rows: readonly R[]): R {
  const [row] = rows
  if (row === undefined) throw new Error('insert returned no row')
  return row
}

/** What can be done with one noun of the store, on an executor. */
export abstract class Verbs {
  protected readonly executor: Executor

  constructor(executor: Executor) {
    this.executor = executor
  }
}
