import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { hasCode } from '../../../base/errorCode.ts'
import { BROTLI_EXTENSION, StoredText } from '../storedText.ts'

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

export interface BuiltFile {
  readonly type: string
  readonly text: StoredText
}

/** Files by their path below the folder, with `/` between its parts. */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>

/** A build has a third of a megabyte; more is something else. */
const BYTES_MAX = 64_000_000

/**
 * Reads all files of a build into memory, so that no request can name another file, and a build that is made meanwhile
 * does not mix with this one. Null: there is no build.
 */
export function readBuild(folder: string): BuiltFiles | null {
  const contents = readAll(folder)
  if (contents === null || !contents.has('index.html')) return null
  const files = new Map<string, BuiltFile>()
  for (const [stored, content] of contents) {
    const isBrotli = stored.endsWith(BROTLI_EXTENSION)
    const path = isBrotli ? stored.slice(0, -BROTLI_EXTENSION.length) : stored
    const type = TYPES[extname(path)]
    if (type !== undefined) files.set(path, { type, text: new StoredText(content, isBrotli ? 'br' : 'identity') })
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
    if (bytes > BYTES_MAX) throw new Error(`${folder} has more than ${BYTES_MAX} bytes: it is no build of pages`)
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
