import { execFileSync } from 'node:child_process'
import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { newFileProblem, operatorText } from '../../src/base/errorCode.ts'
import { fileSize, makeFolder, writeNewFile } from '../../src/base/files.ts'
import { systemRandom } from '../../src/base/random.ts'
import { replaceSecretFile } from '../../src/base/secretFile.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-files-'))
afterAll(() => rmSync(dir, { recursive: true }))

const BYTES = 20_000_000
/** Above every process id of Linux. */
const NOBODY = 4_194_305

test('a new file has all of its content or does not exist, so that a kill leaves no half of it', async () => {
  const path = join(dir, 'export.yaml')
  writeFileSync(`${path}.partial-${NOBODY}-new`, 'what a killed process left')
  const sizes = new Set<number | null>()
  const state = { isWritten: false }
  const writing = writeNewFile(path, Buffer.alloc(BYTES)).finally(() => (state.isWritten = true))
  while (!state.isWritten) sizes.add(await fileSize(path))
  await writing
  expect([...sizes].filter((size) => size !== null && size !== BYTES)).toEqual([])
  expect([readdirSync(dir), statSync(path).size]).toEqual([['export.yaml'], BYTES])
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a file that is there stays as it is', async () => {
  const path = join(dir, 'there')
  writeFileSync(path, 'before')
  await expect(writeNewFile(path, 'after')).rejects.toMatchObject({ code: 'EEXIST' })
  expect(readFileSync(path, 'utf8')).toBe('before')
  expect(readdirSync(dir).filter((name) => name.includes('partial'))).toEqual([])
})

test('a folder is made with those above it, and one that cannot be made says why', async ({ skip }) => {
  const made = join(dir, 'above', 'folder')
  makeFolder(made)
  makeFolder(made)
  expect(readdirSync(made)).toEqual([])
  writeFileSync(join(dir, 'file'), '')
  expect(() => makeFolder(join(dir, 'file', 'in', 'it'))).toThrow('ENOTDIR')
  const disk = join(dir, 'disk')
  mkdirSync(disk)
  if (!mountReadOnly(disk)) return skip('no file system could be mounted')
  try {
    expect(() => makeFolder(join(disk, 'above', 'folder'))).toThrow(
      `EROFS: read-only file system, mkdir '${disk}/above'`,
    )
  } finally {
    execFileSync('umount', ['--lazy', disk])
  }
})

/** Rejects with what an operator reads. */
const said = async (path: string) => {
  const error: unknown = await writeNewFile(path, 'text').catch((cause: unknown) => cause)
  return newFileProblem(error, path)
}

test('a file that is not written is told by its name and in words, and so is a secret one on a full disk', async () => {
  writeFileSync(join(dir, 'taken'), '')
  expect(await said(join(dir, 'taken'))).toBe(`${join(dir, 'taken')} exists already, and is not overwritten`)
  const [missing, below] = [join(dir, 'missing', 'x'), join(dir, 'taken', 'x')]
  expect([await said(missing), await said(below)]).toEqual([
    `the directory of ${missing} does not exist`,
    `the directory of ${below} does not exist`,
  ])
  const { writeSync } = fs
  onTestFinished(() => {
    fs.writeSync = writeSync
    syncBuiltinESMExports()
  })
  // As Node says it, without a path.
  fs.writeSync = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' })
  }
  syncBuiltinESMExports()
  const key = join(dir, 'sealing.key')
  const write = (): string => {
    try {
      replaceSecretFile(key, 'text', systemRandom)
      return 'written'
    } catch (error) {
      return operatorText(error)
    }
  }
  expect(write()).toBe(`${key} is on a disk that is full`)
})

/** Only root can, and not in every container. */
function mountReadOnly(at: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=1m', 'none', at], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
