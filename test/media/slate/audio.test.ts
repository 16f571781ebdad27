import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { SlateMedia } from '../../../src/core/channels/slate.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { AudioTrack, Frame, TrackInfo } from '../../../src/media/frame.ts'
import { encodeSlate } from '../../../src/media/slate/encode.ts'
import { LoopPlayer, type SlateLoop } from '../../../src/media/slate/loop.ts'
import { slateProbe } from '../../../src/media/slate/probe.ts'
import { clip } from '../../support/clips.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'

const RATE = 48_000
const RUNGS = [{ index: 0, id: 're_1', label: 'a', width: 96, height: 54, bitrate: 80_000, frameRate: null }]
const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 2, offline })
const folder = mkdtempSync(join(tmpdir(), 'sluice-audio-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A clip of grey video with this audio. `''`: without. */
function film(seconds: number, source: string): Buffer {
  const audio = source === '' ? '' : `-f lavfi -i ${source} -c:a aac -b:a 128k`
  return clip(`-f lavfi -i color=gray:s=64x36:r=25 ${audio} -t ${seconds} -c:v libx264 -pix_fmt yuv420p`, 'mp4')
}

async function probed(bytes: Buffer, mediaType: SlateMedia['mediaType'] = 'video/mp4'): Promise<SlateMedia> {
  const checks = slateProbe({ ffmpeg, clock: systemClock, folder: join(folder, 'checks') })
  const found = await checks(bytes, { mediaType, maxSide: 1920, maxSeconds: 20 })
  if (!found.ok) throw new Error(JSON.stringify(found.error))
  return { mediaType, ...found.value }
}

async function looped(bytes: Buffer, media: SlateMedia): Promise<SlateLoop> {
  const { signal } = new AbortController()
  const loop = await encodeSlate({
    ffmpeg,
    clock: systemClock,
    log: silentLog,
    name: 'a slate',
    folder,
    media,
    bytes,
    rungs: RUNGS,
    audioKbps: 128,
    signal,
  })
  if (!loop.ok) throw new Error(loop.error)
  return loop.value
}

/** AAC with a header for each frame (ISO/IEC 14496-3 section 1.A.2.2), which every decoder reads. */
function adts({ config }: AudioTrack, frames: readonly Frame[]): Buffer {
  const [first = 0, second = 0] = config
  const [index, channels] = [((first & 7) << 1) | (second >> 7), (second >> 3) & 15]
  const packets = frames.map(({ data }) => {
    const length = data.length + 7
    const head = [0xff, 0xf1, 0x40 | (index << 2) | (channels >> 2), ((channels & 3) << 6) | (length >> 11)]
    return Buffer.concat([Buffer.from([...head, (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc]), data])
  })
  return Buffer.concat(packets)
}

/** What the loop plays in this time, decoded: the left channel. */
function heard(loop: SlateLoop, seconds: number): Float32Array {
  const frames: Frame[] = []
  let tracks: readonly TrackInfo[] = []
  const sink = {
    tracks: (all: readonly TrackInfo[]) => void (tracks = all),
    frame: (one: Frame) => void frames.push(one),
  }
  new LoopPlayer(loop, [sink], 0).until(seconds * 1_000_000)
  const audio = frames.filter(({ kind }) => kind === 'audio')
  audio.forEach(({ timeUs }, n) => expect(timeUs).toBeCloseTo((n * 1024 * 1e6) / RATE, 3))
  const track = tracks.find((one) => one.kind === 'audio')
  if (!track) throw new Error('no audio')
  const path = join(folder, 'heard.aac')
  writeFileSync(path, adts(track, audio))
  const args = `-loglevel error -i ${path} -af pan=mono|c0=c0 -f f32le pipe:1`
  const { stdout } = spawnSync('ffmpeg', args.split(' '), { maxBuffer: 64e6 })
  return new Float32Array(stdout.buffer, stdout.byteOffset, Math.floor(stdout.length / 4))
}

const loudness = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)

/** By the second, in tenths: whether there is a tone. */
const tenths = (samples: Float32Array): boolean[] =>
  Array.from(
    { length: Math.floor(samples.length / 4800) },
    (_, n) => loudness(samples.subarray(n * 4800, (n + 1) * 4800)) > 0.01,
  )

test('a clip plays its own audio, at the same place in each loop', async () => {
  // A tone in the first half of each loop of three seconds.
  const bytes = film(3, 'sine=frequency=1000:sample_rate=44100,volume=enable=gte(t\\,1.5):volume=0')
  const media = await probed(bytes)
  expect(media).toMatchObject({ durationMs: 3000, hasAudio: true })
  const loop = await looped(bytes, media)
  // 24 seconds: the least in which both loops and frames of AAC end.
  expect(loop.audio?.frames).toHaveLength((24 * RATE) / 1024)
  const has = tenths(heard(loop, 60))
  for (let at = 0; at < 590; at += 1) {
    const inLoop = at % 30
    // Frames begin and end within a tenth.
    if ([0, 14, 15, 29].includes(inLoop)) continue
    expect([at, has[at]]).toEqual([at, inLoop < 14])
  }
})

test('a tone that fits the clip goes on over the seam of the loops without a click', async () => {
  const loop = await looped(...(await withMedia(film(1, 'sine=frequency=1000:sample_rate=48000'))))
  const samples = heard(loop, 20)
  // The frames of AAC begin again after 8 and 16 seconds. A click differs from the same place a period before.
  const steady = samples.subarray(RATE, samples.length - RATE)
  const period = RATE / 1000
  const click = steady.reduce((most, sample, n) => Math.max(most, Math.abs(sample - (steady[n - period] ?? sample))), 0)
  expect(loudness(steady)).toBeGreaterThan(0.05)
  expect(click).toBeLessThan(0.02)
})

const withMedia = async (bytes: Buffer): Promise<[Buffer, SlateMedia]> => [bytes, await probed(bytes)]

test('a clip without audio and an image play silence', async () => {
  const image = clip('-f lavfi -i color=gray:s=64x36 -frames:v 1', 'png')
  for (const [bytes, mediaType] of [
    [film(1, ''), 'video/mp4'],
    [image, 'image/png'],
  ] as const) {
    const media = await probed(bytes, mediaType)
    expect(media.hasAudio).toBe(false)
    const loop = await looped(bytes, media)
    expect(loop.audio?.frames).toHaveLength(1)
    expect(loudness(heard(loop, 3))).toBeLessThan(0.001)
  }
})

test('audio that is shorter than the video ends in silence', async () => {
  const shorter = film(3, 'sine=frequency=1000:duration=1')
  const has = tenths(heard(await looped(...(await withMedia(shorter))), 7))
  expect([has[5], has[15], has[25], has[35], has[45], has[65]]).toEqual([true, false, false, true, false, true])
})

test('audio that cannot be decoded refuses the clip', async () => {
  const args = '-f lavfi -i color=gray:s=64x36:r=25 -f lavfi -i sine -t 1 -c:v libx264 -c:a ac3'
  await expect(probed(clip(args, 'mp4'))).rejects.toThrow('broken')
})
