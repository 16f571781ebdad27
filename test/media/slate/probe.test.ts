import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { SlateMediaType } from '../../../src/core/channels/slate.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { slateProbe } from '../../../src/media/slate/probe.ts'
import { clip } from '../../support/clips.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-probe-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const limits = (mediaType: SlateMediaType, maxSide = 4096) => ({ mediaType, maxSide, maxSeconds: 20 })

async function probe(content: string | Buffer, mediaType: SlateMediaType, maxSide?: number) {
  const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 1, offline })
  const at = join(folder, 'checks')
  const found = await slateProbe({ ffmpeg, clock: systemClock, folder: at })(
    Buffer.from(content),
    limits(mediaType, maxSide),
  )
  expect([readdirSync(at), ffmpeg.running]).toEqual([[], 0])
  return found
}

const playlistOf = (file: string): string =>
  `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\nfile://${file}\n#EXT-X-ENDLIST\n`

const TYPES: SlateMediaType[] = ['video/mp4', 'image/png', 'image/jpeg']

test.each(TYPES)('a playlist or script as %s opens no file of this machine', async (type) => {
  const other = join(folder, 'other.ts')
  writeFileSync(other, clip('-f lavfi -i testsrc2=s=64x36:r=10 -t 1 -c:v libx264', 'ts'))
  for (const content of [playlistOf(other), `ffconcat version 1.0\nfile ${other}\n`])
    expect(await probe(content, type)).toMatchObject({ ok: false, error: { code: 'broken' } })
})

test('an image in another format than it is said to be is not decoded', async () => {
  const image = (codec: string) => clip(`-f lavfi -i color=s=32x32 -frames:v 1 -c:v ${codec} -f image2pipe`, codec)
  expect(await probe(image('png'), 'image/png')).toMatchObject({
    ok: true,
    value: { width: 32, durationMs: null },
  })
  for (const codec of ['gif', 'bmp', 'webp', 'mjpeg', 'tiff'])
    expect(await probe(image(codec), 'image/png')).toMatchObject({ ok: false, error: { code: 'broken' } })
})

test('an image with too many pixels is refused before it is decoded', async () => {
  const image = clip('-f lavfi -i color=s=64x64 -frames:v 1 -f apng', 'png')
  expect(await probe(image, 'image/png', 64)).toMatchObject({ ok: true })
  expect(await probe(image, 'image/png', 63)).toEqual({ ok: false, error: { code: 'too_large' } })
})
