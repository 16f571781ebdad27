import { readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'

/** The name of an engine's folder: its id. */
const ENGINE_ID = /^en_[1-9A-Za-z]{22}$/

/**
 * Removes the folders of engines from the output directory of an earlier version, and this directory if it is empty then.
 * Other files in it are not ours.
 */
export async function removeEngineFolders(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  const ours = names.filter((name) => ENGINE_ID.test(name))
  await Promise.all(ours.map((name) => rm(join(directory, name), { recursive: true, force: true })))
  await rmdir(directory).catch(() => undefined)
}
