import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { alignPlaylists, clearLeftovers } from '../../src/media/transcoder/leftovers.ts'

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
