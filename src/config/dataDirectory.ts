import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { systemRandom } from '../base/random.ts'
import { writeSecretFile } from '../base/secretFile.ts'
import { shownDatabase } from '../base/postgresUrl.ts'
import { isPostgres, sealingKeyFile, storageUrl } from './paths.ts'
import type { ConfigProblem } from './problem.ts'
import type { Config } from './schema.ts'

/** A line in the data directory: which database its server uses, if `storage.url` names one. */
const noteFile = (config: Config): string => join(config.data.dir, 'database')

/** Notes the database of this server in its data directory, without the login. Call it when the server has opened it. */
export function noteDatabase(config: Config): void {
  const { url } = config.storage
  if (url === '') rmSync(noteFile(config), { force: true })
  else writeFileSync(noteFile(config), `${shownDatabase(url)}\n`, { mode: 0o600 })
}

/**
 * What is wrong when no database is named, and the server of this data directory uses one that is. Without it, a command
 * that lacks the server's configuration would make and fill a database that no server looks at.
 */
export function otherDatabase(config: Config): ConfigProblem | null {
  if (config.storage.url !== '') return null
  const file = noteFile(config)
  const used = readNote(file)
  if (used === null) return null
  const remedy = 'give this command the configuration of that server (--config FILE, or the same environment)'
  const reason = `is missing, and the server of this directory uses ${used}: ${remedy}; to begin with a new database here, delete ${file}`
  return { key: 'storage.url', source: file, reason }
}

/** A few lines fit; more is no note of ours. */
const MOST_CHARACTERS = 1000

function readNote(file: string): string | null {
  try {
    // Empty: a full disk took what it says.
    return readFileSync(file, 'utf8').trim().slice(0, MOST_CHARACTERS) || null
  } catch {
    return null
  }
}

const numberFile = (dataDir: string): string => join(dataDir, 'host')

/** Gives a data directory its number, unless it has one. Call it in a server, and before a restore names it. @throws an error of the file system */
export function numberDirectory(dataDir: string): void {
  if (!existsSync(numberFile(dataDir)))
    writeSecretFile(numberFile(dataDir), `${systemRandom.bytes(8).toString('hex')}\n`, systemRandom)
}

/**
 * Identifies a directory on this machine, among nodes that share the database but not their disks. Two machines or containers may
 * have the same name and the same paths, so the number of the data directory is a part of it.
 */
export const hostKeyOf = (dataDir: string, dir = dataDir): string =>
  [hostname(), resolve(dir), readNote(numberFile(dataDir)) ?? []].flat().join(':')

/**
 * What is wrong when the SQLite database is there and its key is not: the key is made before the database, and a new one
 * would open nothing of it. Null: nothing.
 */
export function lostKey(config: Config): string | null {
  if (isPostgres(config) || config.secrets.sealingKey !== '' || !existsSync(storageUrl(config))) return null
  const file = sealingKeyFile(config)
  if (existsSync(file)) return null
  return `${file} is missing beside the store; restore it from a backup, or set secrets.sealingKey as the server has it: without it no token opens`
}
