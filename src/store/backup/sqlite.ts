import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { exists } from '../../base/files.ts'
import { isRunning } from '../../base/processes.ts'
import { KEY_ID_POSITION, type Sealer } from '../../base/sealer.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { LEASE_END_MAX_MS } from '../../base/time.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import type { DatabaseFacts } from './manifest.ts'

const BUSY_MS = 5_000

/**
 * Copies the database to the new file `to`, as it was at one moment. Other processes write meanwhile: the copy reads a
 * snapshot, and with write-ahead logging a reader keeps no writer waiting. The copy has no free pages, so no deleted rows.
 */
export function copySqlite(file: string, to: string): DatabaseFacts {
  // SQLite would create the file with the rights of the umask. It accepts an empty one.
  closeSync(openSync(to, 'wx', 0o600))
  onSqlite(file, { readOnly: true }, (db) => db.prepare('vacuum into ?').run(to))
  return onSqlite(to, { readOnly: true }, factsOf)
}

/** The migrations that a database has. */
export const schemaOf = (db: DatabaseSync): string[] =>
  tablesOf(db).includes('kysely_migration') ? names(db, 'select name from kysely_migration order by name') : []

const tablesOf = (db: DatabaseSync): string[] => names(db, "select name from sqlite_master where type = 'table'")

/** What the manifest says of a database. A schema of an earlier release lacks some tables. */
function factsOf(db: DatabaseSync): DatabaseFacts {
  const tables = tablesOf(db)
  const count = (table: string): number =>
    tables.includes(table) ? Number(db.prepare(`select count(*) as n from ${table}`).get()?.['n']) : 0
  return {
    schema: schemaOf(db),
    sealedBy: sealedBy(db, tables),
    accounts: count('accounts'),
    tokens: count('tokens'),
  }
}

function sealedBy(db: DatabaseSync, tables: readonly string[]): string[] {
  const position = `${KEY_ID_POSITION.at + 1}, ${KEY_ID_POSITION.bytes}`
  const ids = Object.values(SEALED_COLUMNS)
    .filter(({ table }) => tables.includes(table))
    .flatMap(({ table, column }) =>
      names(
        db,
        `select distinct lower(hex(substr(${column}, ${position}))) as name from ${table} where ${column} is not null`,
      ),
    )
  return [...new Set(ids)].toSorted()
}

/** Opens one value of each column. @returns a sentence if one does not open */
export function checkKeys(db: DatabaseSync, sealer: Sealer): Result<void, string> {
  for (const { table, column, context } of Object.values(SEALED_COLUMNS)) {
    const value = db.prepare(`select ${column} as value from ${table} where ${column} is not null limit 1`).get()?.[
      'value'
    ]
    if (!(value instanceof Uint8Array)) continue
    const opened = sealer.open(value, context)
    if (!opened.ok) return err(`the key does not open the values in table ${table}: it is another key`)
  }
  return ok(undefined)
}

/** The structure of the file. Checksums prove that its content is that of the backup. */
export const isIntact = (db: DatabaseSync): boolean =>
  db.prepare('pragma quick_check(1)').get()?.['quick_check'] === 'ok'

/** Why nothing can be restored to `file`; null if it can. */
export async function targetProblem(file: string): Promise<string | null> {
  if (await exists(file)) {
    const pid = servingPid(file)
    if (pid !== null) return `a server (process ${pid}) runs on ${file}; stop it first`
    return `there is a database already: ${file}; move it away, with ${file}-wal and ${file}-shm, or choose another directory with --data`
  }
  // SQLite would apply such a log to the restored database.
  for (const rest of [`${file}-wal`, `${file}-shm`]) {
    if (await exists(rest))
      return `there is ${rest} of an earlier database, which a server may use; stop it and move the file away`
  }
  return null
}

/** The process that serves from this file; null: none does, or the file does not say. */
function servingPid(file: string): number | null {
  try {
    const rows = onSqlite(file, { readOnly: true }, (db) =>
      db
        .prepare(
          `select pid from serving_nodes
            where alive_until_ms - unixepoch('now') * 1000 between 0 and ${LEASE_END_MAX_MS}`,
        )
        .all(),
    )
    const alive = rows.map((row) => Number(row['pid'])).filter((pid) => isRunning(pid))
    return alive[0] ?? null
  } catch {
    return null
  }
}

export function onSqlite<T>(file: string, { readOnly }: { readOnly: boolean }, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file, { readOnly, timeout: BUSY_MS })
  try {
    return work(db)
  } finally {
    db.close()
  }
}

const names = (db: DatabaseSync, sql: string): string[] =>
  db
    .prepare(sql)
    .all()
    .map((row) => String(row['name']))
