import type { FileHandle } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { err, ok, type Result } from '../../base/result.ts'

/**
 * The parts of the POSIX ustar format that a backup needs, so that `tar` can open one too. Our own, because a restore reads
 * the manifest at the end first: the libraries read archives only from the beginning. Of those, modern-tar 0.8.6 hung at
 * archives that were cut, and tar-stream 3.2 brings 13 packages with native code.
 */
const BLOCK = 512
const CHUNK_BYTES = 1024 * 1024
/** The largest size as eleven octal digits. Above it, GNU tar's binary form. */
const OCTAL_MAX = 0o77777777777

/** One file in the archive. */
export interface TarEntry {
  readonly name: string
  readonly bytes: number
  /** Where its content begins. */
  readonly at: number
}

export interface Digest {
  readonly bytes: number
  readonly sha256: string
}

/** Appends files to an archive and returns their checksums. */
export class TarWriter {
  readonly #out: FileHandle
  readonly #atMs: number
  #position = 0

  constructor(out: FileHandle, atMs: number) {
    this.#out = out
    this.#atMs = atMs
  }

  /** Reads `source` only once, although the checksum and the archive both need it. */
  async addFile(name: string, source: FileHandle): Promise<Digest> {
    const { size } = await source.stat()
    await this.#write(headerOf(name, size, this.#atMs))
    const start = this.#position
    const sha256 = await readThrough(source, { at: 0, bytes: size }, (chunk) => this.#write(chunk))
    if (this.#position - start !== size) throw new Error(`${name} became shorter while it was read`)
    await this.#write(Buffer.alloc(padding(size)))
    return { bytes: size, sha256 }
  }

  async addBytes(name: string, content: Buffer): Promise<Digest> {
    await this.#write(headerOf(name, content.length, this.#atMs))
    await this.#write(Buffer.concat([content, Buffer.alloc(padding(content.length))]))
    return { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
  }

  /** Two empty blocks end an archive. */
  async end(): Promise<void> {
    await this.#write(Buffer.alloc(2 * BLOCK))
  }

  async #write(chunk: Buffer): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.#out.write(chunk, done, chunk.length - done, this.#position)
      done += bytesWritten
      this.#position += bytesWritten
    }
  }
}

/** Passes a part of a file on in chunks and returns its SHA-256. Ends early where the file ends. */
export async function readThrough(
  source: FileHandle,
  { at, bytes }: Pick<TarEntry, 'at' | 'bytes'>,
  take: (chunk: Buffer) => Promise<void> = async () => undefined,
): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(Math.max(1, Math.min(CHUNK_BYTES, bytes)))
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, bytes - done), at + done)
    if (bytesRead === 0) break
    const chunk = buffer.subarray(0, bytesRead)
    hash.update(chunk)
    await take(chunk)
    done += bytesRead
  }
  return hash.digest('hex')
}

/** Why a file cannot be read as an archive. */
export type TarProblem = 'not-an-archive' | 'cut' | 'damaged'

/** The files of an archive, at most `max`. Reads only the headers. */
export async function tarEntries(source: FileHandle, max: number): Promise<Result<TarEntry[], TarProblem>> {
  const { size } = await source.stat()
  const entries: TarEntry[] = []
  for (let at = 0; entries.length <= max; ) {
    const block = Buffer.alloc(BLOCK)
    const { bytesRead } = await source.read(block, 0, BLOCK, at)
    if (bytesRead < BLOCK) return err(at > 0 ? 'cut' : 'not-an-archive')
    if (block.every((byte) => byte === 0)) return at + 2 * BLOCK <= size ? ok(entries) : err('cut')
    if (!isHeader(block)) return err(at === 0 ? 'not-an-archive' : 'damaged')
    const entry = { name: textAt(block, 0, 100), bytes: sizeIn(block), at: at + BLOCK }
    at = entry.at + entry.bytes + padding(entry.bytes)
    if (at > size) return err('cut')
    entries.push(entry)
  }
  return err('damaged')
}

const padding = (bytes: number): number => (BLOCK - (bytes % BLOCK)) % BLOCK

function headerOf(name: string, bytes: number, atMs: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  block.write(name, 0, 100, 'latin1')
  block.write('0000600\0', 100, 'latin1')
  block.write('0000000\0', 108, 'latin1')
  block.write('0000000\0', 116, 'latin1')
  writeSize(block, bytes)
  block.write(`${octal(Math.floor(atMs / 1000), 11)}\0`, 136, 'latin1')
  block.write('0', 156, 'latin1')
  block.write('ustar\u000000', 257, 'latin1')
  block.write(`${octal(checksumOf(block), 6)}\0 `, 148, 'latin1')
  return block
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0')

function writeSize(block: Buffer, bytes: number): void {
  if (bytes <= OCTAL_MAX) block.write(`${octal(bytes, 11)}\0`, 124, 'latin1')
  else {
    block[124] = 0x80
    block.writeBigUInt64BE(BigInt(bytes), 128)
  }
}

const sizeIn = (block: Buffer): number =>
  block[124] === 0x80 ? Number(block.readBigUInt64BE(128)) : Number.parseInt(textAt(block, 124, 12) || '0', 8)

/** The sum of all bytes, with the field of the sum itself as spaces. */
function checksumOf(block: Buffer): number {
  const sum = block.reduce((total, byte) => total + byte, 0)
  return block.subarray(148, 156).reduce((total, byte) => total - byte + 0x20, sum)
}

const isHeader = (block: Buffer): boolean =>
  textAt(block, 257, 5) === 'ustar' &&
  Number.parseInt(textAt(block, 148, 8), 8) === checksumOf(block) &&
  sizeIn(block) >= 0

function textAt(block: Buffer, from: number, length: number): string {
  const field = block.toString('latin1', from, from + length)
  const end = field.indexOf('\0')
  return end === -1 ? field : field.slice(0, end)
}
