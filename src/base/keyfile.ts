import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Random } from './random.ts'
import { fileProblem, hasCode } from './errorCode.ts'
import { err, ok, type Result } from './result.ts'
import { SEALING_KEY_BYTES } from './sealer.ts'

/** 32 bytes as base64 and a line feed. Operators can paste the same text into `secrets.sealingKey`. */
const FILE_BYTES = 45

/**
 * Reads the sealing key in `path`, and creates it first if it is missing. Two processes that start at once end up
 * with the same key. A missing directory is created.
 * @returns 32 bytes, or a sentence for the operator
 */
export function loadOrCreateKeyFile(path: string, random: Random): Result<Buffer, string> {
  try {
    return readKey(path) ?? createKey(path, random)
  } catch (cause) {
    return err(`the key file ${path} ${fileProblem(cause)}`)
  }
}

/** Reads the key in `path`; null when there is no such file. */
export function readKeyFile(path: string): Result<Buffer | null, string> {
  try {
    return readKey(path) ?? ok(null)
  } catch (cause) {
    return err(`the key file ${path} ${fileProblem(cause)}`)
  }
}

/** Writes a key to `path` in one step, durably, in place of a key that was there. */
export function replaceKeyFile(path: string, key: Uint8Array, random: Random): void {
  const draft = `${path}.${random.bytes(8).toString('hex')}`
  try {
    writeDurably(draft, keyText(key))
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(dirname(path))
}

/** The text of a key file. */
export const keyText = (key: Uint8Array): string => `${Buffer.from(key).toString('base64')}\n`

/** Undefined when the file does not exist. */
function readKey(path: string): Result<Buffer, string> | undefined {
  const file = openIfExists(path)
  if (file === undefined) return undefined
  try {
    const fault = faultOf(fstatSync(file))
    return fault === undefined ? decode(path, readFileSync(file, 'latin1')) : err(`the key file ${path} ${fault}`)
  } finally {
    closeSync(file)
  }
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined
    throw cause
  }
}

function faultOf(stats: Stats): string | undefined {
  if (!stats.isFile()) return 'is not a regular file'
  // Group permissions are allowed on purpose: orchestrators give mounted volumes to a group and add its bits to
  // every file.
  if (process.platform !== 'win32' && (stats.mode & 0o007) !== 0) {
    return 'can be read by other users of this machine: run chmod 600 on it, and make a new key if others had access'
  }
  return stats.size < FILE_BYTES - 1 || stats.size > FILE_BYTES + 1 ? wrongLength(stats.size) : undefined
}

const wrongLength = (size: number): string =>
  `is ${size} bytes long instead of ${FILE_BYTES}: restore it from a backup, for nothing else opens what it sealed`

function decode(path: string, text: string): Result<Buffer, string> {
  const base64 = text.trim()
  const key = Buffer.from(base64, 'base64')
  const whole = key.length === SEALING_KEY_BYTES && key.toString('base64') === base64
  return whole ? ok(key) : err(`the key file ${path} does not hold the base64 of ${SEALING_KEY_BYTES} bytes`)
}

/**
 * Writes the key to a file of its own, then links that file to its final name. A link appears complete and never
 * replaces a file. So a reader never sees half a key, and the second process takes the key of the first.
 */
function createKey(path: string, random: Random): Result<Buffer, string> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${random.bytes(8).toString('hex')}`
  try {
    writeDurably(draft, keyText(random.bytes(SEALING_KEY_BYTES)))
    linkUnlessExists(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(dirname(path))
  return readKey(path) ?? err(`the key file ${path} disappeared while it was made`)
}

/** Writes a new file that only its owner can read. @throws EEXIST */
export function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Gives a complete file its name, unless there is such a file. */
export function linkUnlessExists(from: string, to: string): void {
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
