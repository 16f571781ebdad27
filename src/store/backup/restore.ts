import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { makeFolder, partialOf, publish, removeLeftPartials, removePartial, syncFile } from '../../base/files.ts'
import type { Sealer } from '../../base/sealer.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { MIGRATIONS, problemBeforeRelease } from '../migrations/migrate.ts'
import { migrateFile } from '../sqlite/migrator.ts'
import { COUNT_UNDER_WAY, type Reset, resetStatements } from './afterRestore.ts'
import type { OpenBackup } from './backupFile.ts'
import type { Manifest } from './manifest.ts'
import { refusalOf, roomProblem } from './make.ts'
import { checkKeys, isIntact, onSqlite, targetProblem } from './sqlite.ts'

export interface RestoreRequest {
  /** The database file to make. */
  readonly database: string
  /** Knows the keys of the target. */
  readonly sealer: Sealer
  readonly nowMs: number
  /** Names the directory of recordings on this machine, as a server here will. Called when the data has been checked. */
  recordingsHostKey(): string
  /** Writes keys and authority. Called when everything else has succeeded, before the database appears. */
  writeSecrets(): void
}

/** Why this version cannot read the schema; null if it can. */
export function schemaProblem({ schema, version }: Pick<Manifest, 'schema' | 'version'>): string | null {
  const problem = problemBeforeRelease(schema)
  if (problem !== null) return `it ${problem}`
  const unknown = schema.filter((name) => !MIGRATIONS.has(name))
  if (unknown.length === 0) return null
  return `Sluice ${version} wrote it, whose database is newer (it has ${unknown.join(', ')}); restore it with that version or a newer one`
}

/**
 * Restores a SQLite database that does not exist yet. The database appears complete, migrated and reset, or not at all.
 * @returns what was ended in it, or a sentence
 */
export async function restoreSqlite(backup: OpenBackup, request: RestoreRequest): Promise<Result<Reset, string>> {
  const { database } = request
  const draft = partialOf(database, 'restore')
  try {
    const problem = (await targetProblem(database)) ?? schemaProblem(backup.manifest)
    if (problem !== null) return err(problem)
    makeFolder(dirname(database))
    await removeLeftPartials(database)
    // The data, and what a migration adds.
    const bytes = Object.values(backup.manifest.files).reduce((sum, file) => sum + file.bytes, 0)
    const room = await roomProblem(dirname(database), 2 * bytes)
    if (room !== null) return err(room.message)
    const restored = await writeDraft(backup, request, draft)
    if (!restored.ok) return restored
    request.writeSecrets()
    await publish(draft, database)
    return restored
  } catch (error) {
    return err(refusalOf(error, database).message)
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) await removePartial(`${draft}${end}`)
  }
}

async function writeDraft(backup: OpenBackup, request: RestoreRequest, draft: string): Promise<Result<Reset, string>> {
  const extracted = await backup.extract(draft)
  if (!extracted.ok) return extracted
  if (!onSqlite(draft, { readOnly: true }, isIntact)) return err('the database in it is damaged')
  await migrateFile(draft)
  const reset = onSqlite(draft, { readOnly: false }, (db) => {
    const keys = checkKeys(db, request.sealer)
    return keys.ok ? ok(resetSqlite(db, backup.manifest, request)) : keys
  })
  await syncFile(draft)
  return reset
}

function resetSqlite(db: DatabaseSync, { createdAt }: Manifest, request: RestoreRequest): Reset {
  const counted = db.prepare(COUNT_UNDER_WAY).get()
  db.exec('begin immediate')
  for (const sql of resetStatements('sqlite', request.nowMs, Date.parse(createdAt))) db.exec(sql)
  // All recordings of a SQLite database are of one machine, which is this one from now on.
  db.prepare('update recordings set host_key = ?').run(request.recordingsHostKey())
  db.exec('commit')
  // One complete file. The server switches the log on again.
  db.exec('pragma journal_mode = delete')
  return { sessions: Number(counted?.['sessions']), deliveries: Number(counted?.['deliveries']) }
}
