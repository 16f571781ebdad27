import type { FileHandle } from 'node:fs/promises'
import { keyText } from '../../base/keyfile.ts'
import { NEW_FILE, withFile } from '../../base/files.ts'
import { sha256 } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import {
  AUTHORITY_FILE,
  DATA_FILE,
  formatManifest,
  KEY_FILES,
  MANIFEST,
  type Manifest,
  parseManifest,
  SMALL_FILE_MAX_BYTES,
} from './manifest.ts'
import { type Digest, readThrough, type TarEntry, tarEntries, TarWriter } from './tar.ts'

/** A backup has data, manifest, at most two keys, and the authority. */
const ENTRIES_MAX = 5

export interface BackupContent {
  /** The file with the data. */
  readonly data: string
  readonly manifest: Omit<Manifest, 'files'>
  readonly secrets: BackupSecrets
}

/** Secrets to put into a backup. */
export interface BackupSecrets {
  /** The keys, the one that seals first. */
  readonly keys: readonly Uint8Array[]
  /** Certificate and key of our own authority; null: there is none. */
  readonly authority: string | null
}

/** Writes a new file, readable by its owner only, and waits until it is on the disk. */
export async function writeBackupFile(path: string, { data, manifest, secrets }: BackupContent): Promise<Manifest> {
  return withFile(path, NEW_FILE, async (out) => {
    const archive = new TarWriter(out, Date.parse(manifest.createdAt))
    const dataFile = DATA_FILE[manifest.engine]
    const files: Record<string, Digest> = {
      [dataFile]: await withFile(data, 'r', (source) => archive.addFile(dataFile, source)),
    }
    for (const [name, text] of secretFiles(secrets)) files[name] = await archive.addBytes(name, Buffer.from(text))
    const complete = { ...manifest, files }
    await archive.addBytes(MANIFEST, formatManifest(complete))
    await archive.end()
    await out.sync()
    return complete
  })
}

function secretFiles({ keys, authority }: BackupSecrets): [string, string][] {
  const named = KEY_FILES.flatMap((name, at): [string, string][] => {
    const key = keys[at]
    return key ? [[name, keyText(key)]] : []
  })
  return authority === null ? named : [...named, [AUTHORITY_FILE, authority]]
}

/** A backup whose structure and manifest are whole. Its data is checked when it is read. */
export interface OpenBackup {
  readonly manifest: Manifest
  /** Compares every file with its checksum. */
  check(): Promise<Result<void, string>>
  /** Copies the data to a new file, and compares it with its checksum meanwhile. */
  extract(to: string): Promise<Result<void, string>>
  /** The keys and the authority in it, compared with their checksums. */
  secrets(): Promise<Result<BackupSecrets, string>>
}

const CUT = 'the file ends too early: it was cut, or not copied completely'
const DAMAGED = 'the file is damaged'

/** Opens a backup while `work` runs. @returns the result of `work`, or a sentence about the file */
export async function withBackupFile<T>(
  path: string,
  work: (backup: OpenBackup) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  return withFile(path, 'r', async (source) => {
    const entries = await tarEntries(source, ENTRIES_MAX)
    if (!entries.ok) return err(entries.error === 'cut' ? CUT : 'this is not a backup that Sluice made')
    const manifest = await readManifest(source, entries.value)
    if (!manifest.ok) return manifest
    const listed = isListed(manifest.value, entries.value)
    return listed ? work(new BackupReader(source, entries.value, manifest.value)) : err(DAMAGED)
  })
}

async function readManifest(source: FileHandle, entries: readonly TarEntry[]): Promise<Result<Manifest, string>> {
  const entry = entries.find(({ name }) => name === MANIFEST)
  if (!entry) return err('this is not a backup that Sluice made')
  if (entry.bytes > SMALL_FILE_MAX_BYTES) return err(DAMAGED)
  return parseManifest((await readAll(source, entry)).toString('utf8'))
}

/** Whether the archive has the files of its manifest, of the stated sizes, and no others. */
function isListed({ engine, files }: Manifest, entries: readonly TarEntry[]): boolean {
  const known = new Set<string>([DATA_FILE[engine], ...KEY_FILES, AUTHORITY_FILE])
  const content = entries.filter(({ name }) => name !== MANIFEST)
  return (
    DATA_FILE[engine] in files &&
    content.length === entries.length - 1 &&
    content.length === Object.keys(files).length &&
    content.length === new Set(content.map(({ name }) => name)).size &&
    content.every(({ name, bytes }) => known.has(name) && files[name]?.bytes === bytes) &&
    content.every(({ name, bytes }) => name === DATA_FILE[engine] || bytes <= SMALL_FILE_MAX_BYTES)
  )
}

class BackupReader implements OpenBackup {
  readonly manifest: Manifest
  readonly #source: FileHandle
  readonly #entries: readonly TarEntry[]

  constructor(source: FileHandle, entries: readonly TarEntry[], manifest: Manifest) {
    this.#source = source
    this.#entries = entries
    this.manifest = manifest
  }

  async check(): Promise<Result<void, string>> {
    for (const [name, { sha256 }] of Object.entries(this.manifest.files)) {
      if ((await readThrough(this.#source, this.#entry(name))) !== sha256) return err(`${DAMAGED}: ${name} in it`)
    }
    return ok(undefined)
  }

  async extract(to: string): Promise<Result<void, string>> {
    const name = DATA_FILE[this.manifest.engine]
    const sha256 = await withFile(to, NEW_FILE, async (out) => {
      // Writes until all of the chunk is written: a disk that is almost full takes a part of it first.
      const read = await readThrough(this.#source, this.#entry(name), (chunk) => out.appendFile(chunk))
      await out.sync()
      return read
    })
    return sha256 === this.manifest.files[name]?.sha256 ? ok(undefined) : err(`${DAMAGED}: ${name} in it`)
  }

  async secrets(): Promise<Result<BackupSecrets, string>> {
    const texts = new Map<string, string>()
    for (const name of [...KEY_FILES, AUTHORITY_FILE]) {
      const entry = this.#entries.find((one) => one.name === name)
      if (entry === undefined) continue
      const content = await readAll(this.#source, entry)
      if (sha256(content).toString('hex') !== this.manifest.files[name]?.sha256) return err(`${DAMAGED}: ${name} in it`)
      texts.set(name, content.toString('latin1'))
    }
    const keys = KEY_FILES.flatMap((name) => texts.get(name) ?? []).map((text) => Buffer.from(text, 'base64'))
    return ok({ keys, authority: texts.get(AUTHORITY_FILE) ?? null })
  }

  #entry(name: string): TarEntry {
    const entry = this.#entries.find((one) => one.name === name)
    if (!entry) throw new Error(`${name} is not in the backup`)
    return entry
  }
}

async function readAll(source: FileHandle, { at, bytes }: TarEntry): Promise<Buffer> {
  const content = Buffer.alloc(bytes)
  await source.read(content, 0, bytes, at)
  return content
}
