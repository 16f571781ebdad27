import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress, gzip } from 'node:zlib'
import { hasCode } from '../../base/errorCode.ts'

/** A content coding (RFC 9110 section 8.4.1); `identity`: none. */
export type Coding = 'br' | 'gzip' | 'identity'

/** The end of a file's name that was built in Brotli, in place of the plain file. */
export const BROTLI_EXTENSION = '.br'

/** The largest file has less than a megabyte; more is no file of ours. */
const BYTES_MAX = 16_000_000

/**
 * A file for browsers, or a document. It comes in one form: Brotli, the smallest, or plain. Others are made when a client
 * first asks for them, and kept.
 */
export class StoredText {
  /** The codings that a client may get, in the order of preference. */
  readonly codings: readonly Coding[]
  readonly #hash: string
  readonly #forms = new Map<Coding, Promise<Buffer>>()

  constructor(stored: Buffer, coding: 'br' | 'identity') {
    this.codings = coding === 'br' ? ['br', 'gzip', 'identity'] : ['gzip', 'identity']
    this.#hash = createHash('sha256').update(stored).digest('base64url').slice(0, 22)
    this.#forms.set(coding, Promise.resolve(stored))
  }

  /** A strong one differs between codings (RFC 9110 section 8.8.3.3). */
  etag(coding: Coding): string {
    return coding === 'identity' ? `"${this.#hash}"` : `"${this.#hash}-${coding}"`
  }

  in(coding: Coding): Promise<Buffer> {
    const made = this.#forms.get(coding)
    if (made !== undefined) return made
    const form = coding === 'gzip' ? this.in('identity').then(compress) : this.in('br').then(decompress)
    this.#forms.set(coding, form)
    return form
  }
}

const compress = (plain: Buffer): Promise<Buffer> => promisify(gzip)(plain, { level: 9 })

const decompress = (stored: Buffer): Promise<Buffer> =>
  promisify(brotliDecompress)(stored, { maxOutputLength: BYTES_MAX })

/** A text that is made at its first request, and kept. */
export function textOnce(make: () => string): () => StoredText {
  let text: StoredText | null = null
  return () => (text ??= new StoredText(Buffer.from(make()), 'identity'))
}

/** Only for names that Sluice chooses itself, which bounds it. */
const read = new Map<string, { readonly changedAtMs: number; readonly text: StoredText }>()

/** A file that was built in Brotli or is plain. It is read again when it changes. Null: there is none. */
export async function storedTextAt(file: URL): Promise<StoredText | null> {
  return (await oneAt(new URL(file.href + BROTLI_EXTENSION), 'br')) ?? oneAt(file, 'identity')
}

async function oneAt(file: URL, coding: 'br' | 'identity'): Promise<StoredText | null> {
  try {
    const { mtimeMs: changedAtMs } = await stat(file)
    const known = read.get(file.href)
    if (known?.changedAtMs === changedAtMs) return known.text
    const text = new StoredText(await readFile(file), coding)
    read.set(file.href, { changedAtMs, text })
    return text
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}
