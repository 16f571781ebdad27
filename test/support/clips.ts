import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What ffmpeg made for tests: all workers share it, and later runs do. */
export const CLIPS = fileURLToPath(new URL('../../build/test-clips', import.meta.url))

/**
 * A file that ffmpeg writes for these arguments, which spaces separate.
 *
 * @throws with what ffmpeg says when it fails
 */
export function clip(args: string, extension: string): Buffer {
  const path = pathOf(['clip', args, extension])
  return read(path) ?? keep(path, made(args, extension))
}

/** The same, as the path of a file whose name has no extension. */
export function clipFile(args: string, extension: string): string {
  clip(args, extension)
  return pathOf(['clip', args, extension])
}

/** The same for what is computed of a clip. `key` has all that it depends on. */
export async function keptOf(key: unknown, make: () => Promise<Buffer>): Promise<Buffer> {
  const path = pathOf(key)
  return read(path) ?? keep(path, await make())
}

let version: string | null = null

function pathOf(key: unknown): string {
  version ??= spawnSync('ffmpeg', ['-version'], { encoding: 'utf8' }).stdout
  return join(
    CLIPS,
    createHash('sha256')
      .update(JSON.stringify([version, key]))
      .digest('hex')
      .slice(0, 32),
  )
}

/** Each use renews its time. */
function read(path: string): Buffer | null {
  try {
    utimesSync(path, new Date(), new Date())
    return readFileSync(path)
  } catch {
    return null
  }
}

/** Beside its place, and moved there: another worker reads all of it or nothing, and may write the same. */
function keep(path: string, bytes: Buffer): Buffer {
  mkdirSync(CLIPS, { recursive: true })
  const written = `${path}.${randomUUID()}`
  writeFileSync(written, bytes)
  renameSync(written, path)
  return bytes
}

function made(args: string, extension: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-clip-'))
  try {
    const file = join(folder, `clip.${extension}`)
    const { status, stderr } = spawnSync('ffmpeg', ['-loglevel', 'error', ...args.trim().split(/ +/), file])
    if (status !== 0) throw new Error(String(stderr))
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
