import { join } from 'node:path'
import { exists, makeFolder } from '../base/files.ts'
import { replaceKeyFile } from '../base/keyfile.ts'
import { writeSecretFile } from '../base/secretFile.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { err, ok, type Result } from '../base/result.ts'
import { Sealer, sealingKeyId } from '../base/sealer.ts'
import { VERSION } from '../base/version.ts'
import { hostKeyOf, numberDirectory } from '../config/dataDirectory.ts'
import {
  authorityFile,
  isPostgres,
  previousKeyFile,
  recordingsDir,
  sealingKeyFile,
  storageUrl,
} from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { BackupFacts, Backups, RestoredFacts } from '../cli/host.ts'
import type { Reset } from '../store/backup/afterRestore.ts'
import { type BackupSecrets, type OpenBackup, withBackupFile } from '../store/backup/backupFile.ts'
import { type BackupSource, makeBackup, refusalOf, sqliteSource } from '../store/backup/make.ts'
import { AUTHORITY_FILE, KEY_FILES, type Manifest } from '../store/backup/manifest.ts'
import { restoreSqlite, schemaProblem } from '../store/backup/restore.ts'
import { targetProblem } from '../store/backup/sqlite.ts'
import { readAuthority } from '../tls/selfSigned.ts'
import { hasKeyFiles, readKeyring } from './keyring.ts'

/** Backups of the configured database, for the command line. */
export const backups: Backups = { create: createBackup, verify: verifyBackup, restore: restoreBackup }

/** Makes a backup of the configured database, while servers may run on it. */
async function createBackup(config: Config, file: string, withKey: boolean): Promise<Result<BackupFacts, string>> {
  const ring = readKeyring(config)
  if (!ring.ok) return ring
  const secrets = withKey ? secretsOf(config, ring.value) : ok({ keys: [], authority: null })
  if (!secrets.ok) return secrets
  const request = { file, version: VERSION, nowMs: systemClock.now(), secrets: secrets.value }
  const source = await sourceOf(config)
  if (!source.ok) return source
  const made = await makeBackup(request, source.value)
  return made.ok ? ok(factsOf(made.value, ring.value)) : err(made.error.message)
}

/** What has to stay secret: the keys, and the authority that devices trust, with its own key. */
function secretsOf(config: Config, ring: readonly Uint8Array[]): Result<BackupSecrets, string> {
  if (ring.length === 0) return err(`there is no sealing key: ${sealingKeyFile(config)} does not exist`)
  const authority = readAuthority(authorityFile(config))
  if (authority !== null && !authority.ok) return authority
  return ok({ keys: ring, authority: authority && authority.value.cert + authority.value.key })
}

async function sourceOf(config: Config): Promise<Result<BackupSource, string>> {
  const database = storageUrl(config)
  if (isPostgres(config)) return (await import('../store/backup/postgres.ts')).postgresSource(database)
  if (await exists(database)) return ok(await sqliteSource(database))
  return err(`there is no database ${database}; see storage.url and data.dir`)
}

/** Reads the whole file, and compares it with its checksums. */
function verifyBackup(config: Config, file: string): Promise<Result<BackupFacts, string>> {
  return readable(file, async (backup) => {
    const checked = await backup.check()
    if (!checked.ok) return checked
    const problem = schemaProblem(backup.manifest)
    if (problem !== null) return err(problem)
    const secrets = await backup.secrets()
    if (!secrets.ok) return secrets
    const ring = readKeyring(config)
    return ok(factsOf(backup.manifest, [...secrets.value.keys, ...(ring.ok ? ring.value : [])]))
  })
}

/** Restores a backup to the configured location, where no database is yet. */
async function restoreBackup(config: Config, file: string): Promise<Result<RestoredFacts, string>> {
  const occupied = await occupiedBy(config)
  if (occupied !== null) return err(occupied)
  return readable(file, async (backup) => {
    const { engine } = backup.manifest
    if ((engine === 'postgres') !== isPostgres(config)) return err(wrongEngine(engine))
    const newer = schemaProblem(backup.manifest)
    if (newer !== null) return err(newer)
    const secrets = await backup.secrets()
    if (!secrets.ok) return secrets
    const keys = keysFor(config, backup.manifest, secrets.value)
    if (!keys.ok) return keys
    const ended = await restoreTo(config, backup, { ...keys.value, authority: secrets.value.authority })
    return ended.ok ? ok({ ...factsOf(backup.manifest, keys.value.all), ended: ended.value }) : ended
  })
}

const occupiedBy = async (config: Config): Promise<string | null> =>
  isPostgres(config)
    ? (await import('../store/backup/postgres.ts')).databaseProblem(storageUrl(config))
    : targetProblem(storageUrl(config))

async function restoreTo(
  config: Config,
  backup: OpenBackup,
  { authority, ...keys }: RestoreKeys & Pick<BackupSecrets, 'authority'>,
): Promise<Result<Reset, string>> {
  const nowMs = systemClock.now()
  if (!isPostgres(config)) {
    return restoreSqlite(backup, {
      database: storageUrl(config),
      sealer: new Sealer(keys.all, systemRandom),
      nowMs,
      recordingsHostKey: () => {
        makeFolder(config.data.dir)
        numberDirectory(config.data.dir)
        return hostKeyOf(config.data.dir, recordingsDir(config))
      },
      writeSecrets: () => writeSecrets(config, keys.toWrite, authority),
    })
  }
  const { restorePostgres } = await import('../store/backup/postgres.ts')
  makeFolder(config.data.dir)
  // Before the database: a server must never find the database without its key, because it would make one.
  writeSecrets(config, keys.toWrite, authority)
  return restorePostgres(backup, { url: storageUrl(config), nowMs, draft: join(config.data.dir, 'restore') })
}

async function readable<T>(
  file: string,
  work: (backup: OpenBackup) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  if (!(await exists(file))) return err(`there is no file ${file}`)
  try {
    const result = await withBackupFile(file, work)
    return result.ok ? result : err(`${file}: ${result.error}`)
  } catch (error) {
    return err(refusalOf(error, file).message)
  }
}

const wrongEngine = (engine: Manifest['engine']): string =>
  engine === 'postgres'
    ? 'it is of a PostgreSQL database; set storage.url to the database to restore it to'
    : 'it is of a SQLite database; leave storage.url empty, or set it to the path of a new file. The way to PostgreSQL is `sluice provision export`'

interface RestoreKeys {
  readonly all: Uint8Array[]
  /** Keys of the backup that the data directory does not have. */
  readonly toWrite: readonly Uint8Array[]
}

/** The keys to open the values with: those of this installation, or else those in the backup. */
function keysFor(
  config: Config,
  manifest: Manifest,
  { keys: inBackup }: Pick<BackupSecrets, 'keys'>,
): Result<RestoreKeys, string> {
  const ring = readKeyring(config)
  if (!ring.ok) return ring
  const own: Uint8Array[] = ring.value
  const all = [...own, ...inBackup]
  const missing = missingKeys(manifest, own.length > 0 ? own : inBackup)
  if (missing.length > 0) return err(keyProblem(config, { missing, own, inBackup }))
  // A database without sealed values needs no key. The first start makes one.
  if (all.length === 0) return ok({ all: [systemRandom.bytes(32)], toWrite: [] })
  return ok({ all, toWrite: own.length > 0 ? [] : inBackup })
}

function keyProblem(
  config: Config,
  {
    missing,
    own,
    inBackup,
  }: { missing: readonly string[]; own: readonly Uint8Array[]; inBackup: readonly Uint8Array[] },
): string {
  const location = hasKeyFiles(config) ? sealingKeyFile(config) : 'secrets.sealingKey'
  const needed = `its values are sealed with key ${missing.join(', ')}`
  if (own.length === 0)
    return `${needed}, which is not in it; put the sealing.key of that installation at ${location} first`
  const remedy =
    inBackup.length > 0 ? `move ${location} away to restore the key from the backup` : `put the right key there`
  return `${needed}, and ${location} is another key (${own.map(sealingKeyId).join(', ')}); ${remedy}`
}

/** A key and an authority that are there stay. */
function writeSecrets(config: Config, keys: readonly Uint8Array[], authority: string | null): void {
  writeKeys(config, keys)
  if (authority !== null) writeSecretFile(authorityFile(config), authority, systemRandom)
}

/** Called only for a directory without keys: a key that is there is never replaced. */
function writeKeys(config: Config, [key, previous]: readonly Uint8Array[]): void {
  if (key === undefined || !hasKeyFiles(config)) return
  makeFolder(config.data.dir)
  replaceKeyFile(sealingKeyFile(config), key, systemRandom)
  if (previous) replaceKeyFile(previousKeyFile(config), previous, systemRandom)
}

function factsOf(manifest: Manifest, keys: readonly Uint8Array[]): BackupFacts {
  return {
    ...manifest,
    hasKey: KEY_FILES[0] in manifest.files,
    hasAuthority: AUTHORITY_FILE in manifest.files,
    missingKeys: missingKeys(manifest, keys),
  }
}

const missingKeys = ({ sealedBy }: Pick<Manifest, 'sealedBy'>, keys: readonly Uint8Array[]): string[] => {
  const known = new Set(keys.map(sealingKeyId))
  return sealedBy.filter((id) => !known.has(id))
}
