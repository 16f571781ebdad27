import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fileSize, writeNewFile } from '../../src/base/files.ts'

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
