import type { DatabaseSync } from 'node:sqlite'
import type { TableSize } from '../../store.ts'

const OURS = "name not like 'sqlite~_%' escape '~' and name not like 'kysely~_%' escape '~'"

/** Counts rows up to `rowsMax` in each table, which costs the same however large they are. */
export function countTables(db: DatabaseSync, rowsMax: number): TableSize[] {
  const names = rowsOf<{ name: string }>(db, `select name from sqlite_schema where type = 'table' and ${OURS}`)
  return names.map(({ name }) => {
    const inside = `select 1 from "${name}" limit ${rowsMax + 1}`
    const [row] = rowsOf<{ rows: number }>(db, `select count(*) as rows from (${inside})`)
    const rows = row?.rows ?? 0
    return { name, rows: Math.min(rows, rowsMax), hasMore: rows > rowsMax, bytes: null }
  })
}

/** A table, or an index of one. */
interface Tree {
  readonly name: string
  readonly table: string
  /** Its rows are in all of its pages, and not in leaves alone. */
  readonly isWithoutRowid: number
}

/** Measures every page. @returns null if there are more than `pagesMax` */
export function measureTables(db: DatabaseSync, pagesMax: number): TableSize[] | null {
  const [{ pages } = { pages: 0 }] = rowsOf<{ pages: number }>(db, 'select page_count as pages from pragma_page_count')
  if (pages > pagesMax) return null
  const trees = rowsOf<Tree>(
    db,
    `select name, tbl_name as "table", coalesce(sql like '%without rowid%', 0) as isWithoutRowid from sqlite_schema
     where type in ('table', 'index') and ${OURS.replaceAll('name', 'tbl_name')}`,
  )
  const sums = new Map<string, { rows: number; bytes: number }>()
  const read = db.prepare(
    "select sum(pgsize) as bytes, sum(iif(?2 or pagetype = 'leaf', ncell, 0)) as cells from dbstat where name = ?1",
  )
  for (const { name, table, isWithoutRowid } of trees) {
    const { bytes, cells } = read.get(name, isWithoutRowid) as { bytes: number | null; cells: number | null }
    const sum = sums.get(table) ?? { rows: 0, bytes: 0 }
    sum.bytes += bytes ?? 0
    if (name === table) sum.rows += cells ?? 0
    sums.set(table, sum)
  }
  return [...sums].map(([name, sum]) => ({ name, hasMore: false, ...sum }))
}

const rowsOf = <R>(db: DatabaseSync, sql: string): R[] => db.prepare(sql).all() as R[]
