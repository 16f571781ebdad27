import type { Executor } from '../executor.ts'
import type { TableSize } from '../store.ts'

/** The tables of the database, the one with the most first. Costs the same however large they are. */
export async function readTableSizes(executor: Executor, rowsMax: number): Promise<TableSize[]> {
  const sizes = executor.engine.name === 'sqlite' ? await counted(executor, rowsMax) : await estimated(executor)
  return sizes.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || b.rows - a.rows || (a.name < b.name ? -1 : 1))
}

async function counted(executor: Executor, rowsMax: number): Promise<TableSize[]> {
  const names = await rowsOf<{ name: string }>(
    executor,
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite~_%' escape '~' and name not like 'kysely~_%' escape '~'",
  )
  const sizes: TableSize[] = []
  for (const { name } of names) {
    const inside = `select 1 from "${name}" limit ${rowsMax + 1}`
    const [row] = await rowsOf<{ rows: number }>(executor, `select count(*) as rows from (${inside})`)
    const rows = row?.rows ?? 0
    sizes.push({ name, rows: Math.min(rows, rowsMax), hasMore: rows > rowsMax, bytes: null })
    // Others read between two tables.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return sizes
}

/** The catalogue has the sizes, and the rows as of the last `analyze`. */
async function estimated(executor: Executor): Promise<TableSize[]> {
  const rows = await rowsOf<{ name: string; rows: string; bytes: string }>(
    executor,
    `select relname as name, greatest(reltuples, 0)::bigint as rows, pg_total_relation_size(oid) as bytes from pg_class
     where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname not like 'kysely\\_%'`,
  )
  return rows.map(({ name, ...size }) => ({ name, rows: Number(size.rows), hasMore: false, bytes: Number(size.bytes) }))
}

const rowsOf = async <R>(executor: Executor, sql: string): Promise<R[]> =>
  (await executor.execute({ sql, parameters: [] })).rows as R[]
