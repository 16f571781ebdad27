import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import type { Random } from './random.ts'
import { fileProblem, hasCode } from './errorCode.ts'
import { err, ok, type Result } from './result.ts'
import { SEALING_KEY_BYTES } from './sealer.ts'
import { replaceSecretFile, writeSecretFile } from './secretFile.ts'

/** 32 bytes as base64 and a line feed. Operators can paste the same text into `secrets.sealingKey`. */
const FILE_BYTES = 45

/**
 * Reads the sealing key in `path`, and creates it first if it is missing. Two processes that start at once end up
 * with the same key. A missing directory is created.
 * @returns 32 bytes, or a sentence for the operator
 */
export function loadOrCreateKeyFile(path: string, random: Random): Result<Buffer, string> {
  const key = readKeyFile(path)
  if (!key.ok) return key
  return key.value === null ? createKey(path, random) : ok(key.value)
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
export const replaceKeyFile = (path: string, key: Uint8Array, random: Random): void =>
  replaceSecretFile(path, keyText(key), random)

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

/** Of two processes that make a key, the second takes that of the first. */
function createKey(path: string, random: Random): Result<Buffer, string> {
  try {
    writeSecretFile(path, keyText(random.bytes(SEALING_KEY_BYTES)), random)
  } catch (cause) {
    return err(`${dirname(path)}, where Sluice makes its key file, ${fileProblem(cause)}`)
  }
  const key = readKeyFile(path)
  if (!key.ok) return key
  return key.value === null ? err(`the key file ${path} disappeared while it was made`) : ok(key.value)
}
