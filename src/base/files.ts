import { constants, existsSync, mkdirSync } from 'node:fs'
import { type FileHandle, link, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { hasCode } from './errorCode.ts'
import { isRunning } from './processes.ts'

const MARK = '.partial-'

/** Makes a folder that only its owner can use, and those above it that are missing. @throws an error of the file system */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    // Node says ENOENT for all that the system refuses but rights and space, such as a disk that is read-only.
    if (hasCode(error, 'ENOENT')) mkdirSync(firstMissing(resolve(path)), { mode: 0o700 })
    throw error
  }
}

function firstMissing(path: string): string {
  const parent = dirname(path)
  return existsSync(parent) ? path : firstMissing(parent)
}

/** The name of an unfinished file beside `path`. It names the process that writes it, so that others can tell what is left over. */
export const partialOf = (path: string, part: string): string => `${path}${MARK}${process.pid}-${part}`

/** Removes unfinished files beside `path` that a process which no longer runs has left. */
export async function removeLeftPartials(path: string): Promise<void> {
  const folder = dirname(path)
  for (const name of await readdir(folder)) {
    const [, pid] = name.startsWith(`${basename(path)}${MARK}`) ? (/\.partial-(\d+)-[^/]*$/.exec(name) ?? []) : []
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(folder, name), { force: true })
  }
}

/** Writes a new file that only its owner can read: all of it or nothing, whenever this process ends. @throws EEXIST */
export async function writeNewFile(path: string, content: string | Uint8Array): Promise<void> {
  const partial = partialOf(path, 'new')
  try {
    await removeLeftPartials(path)
    await withFile(partial, NEW_FILE, async (file) => {
      await file.writeFile(content)
      await file.sync()
    })
    await publish(partial, path)
  } finally {
    await removePartial(partial)
  }
}

/** Never rejects: what kept the file from being written may keep it from being removed, and is what its writer reports. */
export const removePartial = (partial: string): Promise<void> => rm(partial, { force: true }).catch(() => undefined)

/** Gives a complete file its name, at once, and never in place of another file. @throws EEXIST */
export async function publish(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path)
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
    // A file system without links. Its rename would replace a file.
    if (await exists(path)) throw Object.assign(new Error(`${path} exists`), { code: 'EEXIST' })
    await rename(partial, path)
  }
  await rm(partial, { force: true })
  await syncFolder(dirname(path))
}

/** Without this, a power cut can lose the name of a file whose content is safe. Windows cannot open a directory. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform !== 'win32') await withFile(folder, 'r', (handle) => handle.sync())
}

export async function syncFile(path: string): Promise<void> {
  await withFile(path, 'r+', (handle) => handle.sync())
}

/** @throws when this user may not look */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
      throw error
    },
  )
}

/** The size of a file, bytes; null: it is not there. */
export const fileSize = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  )

/** A new file that only its owner can read. */
export const NEW_FILE = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR

export async function withFile<T>(
  path: string,
  flags: string | number,
  work: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const handle = await open(path, flags, 0o600)
  try {
    return await work(handle)
  } finally {
    await handle.close()
  }
}
