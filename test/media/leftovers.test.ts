import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { removeEngineFolders } from '../../src/media/transcoder/leftovers.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-leftovers-'))
})
afterEach(() => rm(folder, { recursive: true }))

const ENGINE_ID = `en_${'2'.repeat(22)}`

test('the folders of engines are removed from the directory of an earlier version, and nothing else', async () => {
  await mkdir(join(folder, ENGINE_ID, '0'), { recursive: true })
  await writeFile(join(folder, ENGINE_ID, '0', '0_0.m4s'), '')
  await mkdir(join(folder, 'en_short'))
  await writeFile(join(folder, 'mine.txt'), '')
  await removeEngineFolders(folder)
  expect((await readdir(folder)).toSorted()).toEqual(['en_short', 'mine.txt'])
})

test('the directory of an earlier version is removed when only folders of engines were in it', async () => {
  const directory = join(folder, 'live')
  await mkdir(join(directory, ENGINE_ID), { recursive: true })
  await removeEngineFolders(directory)
  await removeEngineFolders(directory)
  expect(await readdir(folder)).toEqual([])
})
