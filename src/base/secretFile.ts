import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasCode, ofFile } from './errorCode.ts'
import { makeFolder } from './files.ts'
import type { Random } from './random.ts'

// Files that only their owner can read. They appear complete, and a power cut does not lose them: each is written under
// another name, and then gets its own.

/** Writes a file, unless there is one: that stays. A missing directory is made. @throws an error of the file system */
export function writeSecretFile(path: string, text: string, random: Random): void {
  makeFolder(dirname(path))
  // A link never replaces a file.
  withDraft(path, text, random, (draft) => linkUnlessExists(draft, path))
}

/** Writes a file in place of one that may be there. @throws an error of the file system */
export function replaceSecretFile(path: string, text: string, random: Random): void {
  withDraft(path, text, random, (draft) => renameSync(draft, path))
}

function withDraft(path: string, text: string, random: Random, publish: (draft: string) => void): void {
  const draft = `${path}.${random.bytes(8).toString('hex')}`
  try {
    writeNew(draft, text)
    publish(draft)
  } catch (error) {
    throw ofFile(error, path)
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(dirname(path))
}

function writeNew(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function linkUnlessExists(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (cause) {
    if (!hasCode(cause, 'EEXIST')) throw cause
  }
}

/** Without this, a power cut can lose the name of a file whose content is safe. Windows cannot open a directory. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
