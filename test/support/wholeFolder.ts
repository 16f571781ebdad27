import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** An empty folder beside one that is to be made, so that a move to it is one step. */
export function folderBeside(folder: string): string {
  mkdirSync(dirname(folder), { recursive: true })
  return mkdtempSync(join(dirname(folder), 'new-'))
}

/**
 * Moves what was made beside a folder to it. Others see all of it or nothing. If another process was sooner, its folder
 * stays, and what was made here is removed.
 */
export function moveWhole(made: string, folder: string): void {
  try {
    renameSync(made, folder)
  } catch (error) {
    rmSync(made, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}
