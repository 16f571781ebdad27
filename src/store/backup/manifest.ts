import { isObject } from '../../base/objects.ts'
import { sha256Hex } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { DialectName } from '../executor.ts'
import type { Digest } from './tar.ts'

export const MANIFEST = 'manifest.json'
/** The bound of the manifest and of each secret. */
export const SMALL_FILE_MAX_BYTES = 64 * 1024
/** The file with the data: a SQLite database, or what `pg_dump --format=custom` writes. */
export const DATA_FILE: Readonly<Record<DialectName, string>> = { sqlite: 'sluice.db', postgres: 'sluice.dump' }
/** Keys, if the operator asked for them: the one that seals, and the other one in use. */
export const KEY_FILES = ['sealing.key', 'sealing.key.previous'] as const
/** The authority of `tls.selfSigned`, which devices trust. It comes with the keys, because its own key is in it. */
export const AUTHORITY_FILE = 'tls/authority.pem'

const FORMAT = 1

/** What a backup says of itself. */
export interface Manifest {
  /** The version of Sluice that wrote it. */
  readonly version: string
  readonly engine: DialectName
  /** The migrations of its database, in order. */
  readonly schema: readonly string[]
  readonly createdAt: string
  /** The ids of the keys that sealed its values. */
  readonly sealedBy: readonly string[]
  readonly accounts: number
  readonly tokens: number
  readonly files: Readonly<Record<string, Digest>>
}

/** What it says of the database. */
export type DatabaseFacts = Pick<Manifest, 'schema' | 'sealedBy' | 'accounts' | 'tokens'>

/** JSON with a checksum of itself, because the archive has none for it. */
export function formatManifest(manifest: Manifest): Buffer {
  const body = { format: FORMAT, ...manifest }
  const checksum = sha256Hex(JSON.stringify(body))
  return Buffer.from(`${JSON.stringify({ ...body, checksum }, null, 2)}\n`)
}

/** @returns the manifest, or what is wrong with it */
export function parseManifest(text: string): Result<Manifest, string> {
  const parsed = parseObject(text)
  if (parsed === null) return err('its manifest is damaged')
  const { checksum, ...body } = parsed
  if (checksum !== sha256Hex(JSON.stringify(body))) return err('its manifest is damaged')
  const { format, ...manifest } = body
  if (format !== FORMAT) return err(`a newer version of Sluice (${String(manifest['version'])}) wrote it; use that one`)
  // The checksum proves that a version of Sluice wrote it, with these fields.
  return ok(manifest as unknown as Manifest)
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
