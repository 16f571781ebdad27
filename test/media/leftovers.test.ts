import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { alignPlaylists, clearLeftovers, removeEngineFolders } from '../../src/media/transcoder/leftovers.ts'

const NOW_MS = 1_750_000_000_000
const HOUR = 3600

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-leftovers-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function written(name: string, secondsAgo: number, text = ''): Promise<void> {
  await writeFile(join(folder, name), text)
  await utimes(join(folder, name), NOW_MS / 1000 - secondsAgo, NOW_MS / 1000 - secondsAgo)
}

test('files of processes before the playlist are removed once no viewer can request them', async () => {
  await written('index.m3u8', HOUR, '#EXTM3U\n#EXT-X-MAP:URI="10_0.mp4"\n#EXTINF:2,\n9_50.m4s\n#EXTINF:2,\n10_51.m4s\n')
  for (const name of [
    '2_0.mp4',
    '2_30.m4s',
    '8_48.m4s.tmp',
    '9_49.m4s',
    '9_50.m4s',
    '9_0.mp4',
    '10_51.m4s',
    '10_0.mp4',
  ]) {
    await written(name, HOUR)
  }
  await written('8_47.m4s', 30)
  await clearLeftovers(folder, NOW_MS)
  const expected = ['8_47.m4s', '9_49.m4s', '9_50.m4s', '9_0.mp4', '10_51.m4s', '10_0.mp4', 'index.m3u8']
  expect((await readdir(folder)).sort()).toEqual(expected.sort())
})

test('without a playlist nothing is removed', async () => {
  await written('2_30.m4s', HOUR)
  await clearLeftovers(folder, NOW_MS)
  expect(await readdir(folder)).toEqual(['2_30.m4s'])
})

test('a dropped rendition loses its playlist, and a resumed one continues with the numbers of the others', async () => {
  const folders = ['0', '1', '2'].map((name) => join(folder, name))
  const playlist =
    '#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXT-X-MEDIA-SEQUENCE:70\n#EXTINF:2,\n0_70.m4s\n#EXTINF:2,\n0_71.m4s\n'
  for (const each of folders) await mkdir(each)
  // Before the first process there is no playlist to continue.
  await alignPlaylists(folders, () => true)
  expect(await readdir(folders[0] ?? '')).toEqual([])
  for (const each of folders.slice(1)) await writeFile(join(each, 'index.m3u8'), playlist)
  await alignPlaylists(folders, (each) => each !== folders[2])
  const [resumed, unchanged, gone] = await Promise.all(
    folders.map((each) => readFile(join(each, 'index.m3u8'), 'utf8').catch(() => null)),
  )
  expect([unchanged, gone]).toEqual([playlist, null])
  expect(resumed).toMatch(/^#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:3\n#EXT-X-MEDIA-SEQUENCE:72\n$/)
})

const ENGINE_ID = `en_${'2'.repeat(22)}`

test('the folders of engines are removed from the directory of an earlier version, and nothing else', async () => {
  await mkdir(join(folder, ENGINE_ID, '0'), { recursive: true })
  await written(join(ENGINE_ID, '0', '0_0.m4s'), HOUR)
  await mkdir(join(folder, 'en_short'))
  await written('mine.txt', HOUR)
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
