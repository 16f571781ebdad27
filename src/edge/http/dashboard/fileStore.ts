import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { hasCode } from '../../../base/errorCode.ts'

/** The encodings that may stand beside a file, in the order of preference. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
}

type Encoding = (typeof ENCODINGS)[number][0]

export interface BuiltFile {
  readonly type: string
  readonly etag: string
  readonly content: Buffer
  readonly encoded: ReadonlyMap<Encoding, Buffer>
}

/** Files by their path below the folder, with `/` between its parts. */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>

/** A build has about a megabyte; more is something else. */
const BYTES_MAX = 64_000_000

/**
 * Reads all files of a build into memory, so that no request can name another file, and a build that is made meanwhile
 * does not mix with this one. Null: there is no build.
 */
export function readBuild(folder: string): BuiltFiles | null {
  const contents = readAll(folder)
  if (contents === null || !contents.has('index.html')) return null
  const files = new Map<string, BuiltFile>()
  for (const [path, content] of contents) {
    const type = TYPES[extname(path)]
    if (type === undefined) continue
    const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    files.set(path, { type, etag, content, encoded: encodedOf(contents, path) })
  }
  return files
}

function readAll(folder: string): Map<string, Buffer> | null {
  const contents = new Map<string, Buffer>()
  let bytes = 0
  for (const entry of entriesOf(folder) ?? []) {
    const path = join(entry.parentPath, entry.name)
    const content = readFileSync(path)
    bytes += content.length
    if (bytes > BYTES_MAX)
      throw new Error(`${folder} has more than ${BYTES_MAX} bytes: it is no build of the dashboard`)
    contents.set(path.slice(folder.length).split(sep).join('/').replace(/^\//, ''), content)
  }
  return contents.size === 0 ? null : contents
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

const encodedOf = (contents: ReadonlyMap<string, Buffer>, path: string): Map<Encoding, Buffer> =>
  new Map(
    ENCODINGS.flatMap(([encoding, extension]) => {
      const content = contents.get(path + extension)
      return content ? [[encoding, content] as const] : []
    }),
  )

/** The best encoding of a file that an `Accept-Encoding` allows (RFC 9110 section 12.5.3); null: none. */
export function encodingFor(file: BuiltFile, accepted: string | undefined): Encoding | null {
  const allowed = (accepted ?? '').split(',').map((part) =>
    part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q\s*=\s*/),
  )
  const allows = (name: string) => allowed.some(([coding, q = '1']) => coding === name && Number(q) > 0)
  return ENCODINGS.find(([name]) => file.encoded.has(name) && allows(name))?.[0] ?? null
}
