import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folderUse } from '../../src/base/folderUse.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-use-'))
  mkdirSync(join(dir, 'a', 'b'), { recursive: true })
  writeFileSync(join(dir, 'one.mp4'), 'x'.repeat(10))
  writeFileSync(join(dir, 'a', 'b', 'two.mp4'), 'x'.repeat(20))
  writeFileSync(join(dir, 'a', 'one.jpeg'), 'x'.repeat(3))
  // A loop, and a way out of the folder.
  symlinkSync(dir, join(dir, 'a', 'loop'))
})
afterAll(() => rmSync(dir, { recursive: true }))

const ask = (folder: string, entriesMax: number) =>
  folderUse(folder, {
    kinds: ['jpeg', 'other'] as const,
    kindOf: (name) => (name.endsWith('.jpeg') ? 'jpeg' : 'other'),
    entriesMax,
  })

test('files are summed up by kind, in folders below too, and links are not followed', async () => {
  const { of, hasMore } = await ask(dir, 6)
  expect(Object.fromEntries(of)).toEqual({ jpeg: { files: 1, bytes: 3 }, other: { files: 2, bytes: 30 } })
  expect(hasMore).toBe(false)
})

test('no more files and folders are looked at than the bound', async () => {
  const { of, hasMore } = await ask(dir, 5)
  expect([...of.values()].reduce((sum, { files }) => sum + files, 0)).toBeLessThan(3)
  expect(hasMore).toBe(true)
})

test('a folder that does not exist has nothing', async () => {
  const { of, hasMore } = await ask(join(dir, 'absent'), 2)
  expect([[...of.values()], hasMore]).toEqual([
    [
      { files: 0, bytes: 0 },
      { files: 0, bytes: 0 },
    ],
    false,
  ])
})
