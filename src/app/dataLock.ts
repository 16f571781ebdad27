import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'

const BUSY = 5

/**
 * Takes a data directory for the server of this process: two of them would empty each other's `channels/`, and take each other's
 * recordings for lost ones. The lock is one of the operating system, which frees it however the process ends. It writes nothing, so
 * that a full disk does not matter.
 *
 * @returns what frees it; null: another server has the directory
 */
export function lockDataDirectory(dir: string): (() => void) | null {
  let file: DatabaseSync | undefined
  try {
    file = new DatabaseSync(join(dir, 'lock'), { timeout: 0 })
    // Without a journal, which would be a file beside it.
    file.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    if ((error as { errcode?: number }).errcode === BUSY) {
      file?.close()
      return null
    }
    // A directory that takes no file stops the start later, in words of its own; a file system without locks does not.
  }
  return () => file?.close()
}
