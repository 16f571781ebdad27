import { isoTime } from '../../base/time.ts'
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode } from '../../base/errorCode.ts'
import { exists, partialOf, publish, removeLeftPartials, removePartial } from '../../base/files.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { coded, type CodedSentence, type Said, say } from '../../core/notices.ts'
import { translateSqliteError } from '../sqlite/errors.ts'
import { StoreUnavailable } from '../store.ts'
import { type BackupSecrets, writeBackupFile } from './backupFile.ts'
import type { DatabaseFacts, Manifest } from './manifest.ts'
import { copySqlite } from './sqlite.ts'

export interface BackupRequest {
  /** The backup to make. */
  readonly file: string
  /** The version of Sluice that makes it. */
  readonly version: string
  readonly nowMs: number
  readonly secrets: BackupSecrets
}

/** What a backup takes from a database. */
export interface BackupSource {
  readonly engine: Manifest['engine']
  /** About the size of the data. 0: unknown. */
  readonly bytes: number
  /** Writes the data to a new file. */
  copyTo(file: string): Promise<Result<DatabaseFacts, string>>
}

/** Room for headers and for what is written meanwhile. */
const SPARE_BYTES = 4 * 1024 * 1024

/** Makes a backup file. It appears complete or not at all. @returns its manifest, or a sentence */
export async function makeBackup(request: BackupRequest, source: BackupSource): Promise<Result<Manifest, Said>> {
  const { file } = request
  const [data, archive] = [partialOf(file, 'data'), partialOf(file, 'backup')]
  try {
    if (await exists(file)) return err(say(coded('backup_exists', { path: file })))
    await removeLeftPartials(file)
    // The data, and the archive with a copy of it.
    const room = await roomProblem(dirname(file), 2 * source.bytes + SPARE_BYTES)
    if (room !== null) return err(room)
    const facts = await source.copyTo(data)
    if (!facts.ok) return err({ message: facts.error })
    const manifest = await writeBackupFile(archive, {
      data,
      secrets: request.secrets,
      manifest: aboutOf(request, source, facts.value),
    })
    await publish(archive, file)
    return ok(manifest)
  } catch (error) {
    return err(refusalOf(error, file))
  } finally {
    for (const partial of [data, `${data}-journal`, archive]) await removePartial(partial)
  }
}

const aboutOf = (
  { version, nowMs }: BackupRequest,
  { engine }: BackupSource,
  facts: Omit<Manifest, 'version' | 'engine' | 'createdAt' | 'files'>,
): Omit<Manifest, 'files'> => ({ version, engine, createdAt: isoTime(nowMs), ...facts })

/** A SQLite database as the source of a backup. */
export async function sqliteSource(database: string): Promise<BackupSource> {
  const { size } = await stat(database)
  const log = await stat(`${database}-wal`).catch(() => ({ size: 0 }))
  return { engine: 'sqlite', bytes: size + log.size, copyTo: async (to) => ok(copySqlite(database, to)) }
}

/** Why `bytes` do not fit into a folder; null if they do. */
export async function roomProblem(folder: string, bytes: number): Promise<Said | null> {
  const { bavail, bsize } = await statfs(folder)
  const freeBytes = bavail * bsize
  if (freeBytes >= bytes) return null
  return say(coded('backup_no_room', { folder, free: megabytes(freeBytes), needed: megabytes(bytes) }))
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000)

/** What the machine refused. Rethrows a mistake of ours. */
export const refusalOf = (raw: unknown, path: string): Said => say(sentenceOf(raw, path))

function sentenceOf(raw: unknown, path: string): CodedSentence {
  const error = translateSqliteError(raw)
  if (error instanceof StoreUnavailable) return coded('backup_store', { text: error.message, path })
  if (hasCode(error, 'EEXIST')) return coded('backup_exists', { path })
  if (hasCode(error, 'ENOENT', 'ENOTDIR')) return coded('backup_no_folder', { path })
  if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return coded('backup_forbidden', { path })
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return coded('backup_disk_full', { path })
  if (hasCode(error, 'EIO', 'EISDIR', 'ENAMETOOLONG'))
    return coded('backup_unusable', { path, text: (error as Error).message })
  throw error
}
