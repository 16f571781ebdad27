import type { Executor } from '../executor.ts'
import type { TableSize } from '../store.ts'

export const largestFirst = (sizes: readonly TableSize[]): TableSize[] =>
  sizes.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || b.rows - a.rows || (a.name < b.name ? -1 : 1))

/** The catalogue of PostgreSQL has the sizes, and the rows as of the last `analyze`. */
export async function estimatedSizes(executor: Executor): Promise<TableSize[]> {
  const { rows } = await executor.execute({
    sql: `select relname as name, greatest(reltuples, 0)::bigint as rows, pg_total_relation_size(oid) as bytes from pg_class
     where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname not like 'kysely\\_%'`,
    parameters: [],
  })
  return (rows as { name: string; rows: string; bytes: string }[]).map(({ name, ...size }) => ({
    name,
    rows: Number(size.rows),
    hasMore: false,
    bytes: Number(size.bytes),
  }))
}
