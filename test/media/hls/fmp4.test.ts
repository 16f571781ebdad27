import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Sample } from '../../../src/core/hls/facts.ts'
import { allBoxes, find, viewOf } from '../../../src/media/codecs/boxes.ts'
import { codecsOf, initOf, mp4Tracks, partOf } from '../../../src/media/hls/fmp4.ts'
import { encoded, type Recorded } from '../ffmpeg/frames.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-fmp4-'))
let recorded: Recorded

beforeAll(async () => {
  recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The frames of a track as samples, each as long as the distance to the next one. */
function samplesOf({ frames }: Recorded, kind: 'video' | 'audio', timescale: number): Sample[] {
  const ticks = (us: number): number => Math.round((us * timescale) / 1e6)
  const own = frames.filter((frame) => frame.kind === kind)
  const dts = own.map(({ decodeTimeUs }) => ticks(decodeTimeUs))
  // ffprobe does not know the decode time of the first frames with B-frames, and says their presentation time.
  for (let at = dts.length - 2; at >= 0; at--) dts[at] = Math.min(dts[at]!, dts[at + 1]! - 1)
  return own.map(({ timeUs, key, data }, at) => {
    return { dts: dts[at]!, pts: ticks(timeUs), duration: (dts[at + 1] ?? dts[at]! + 1024) - dts[at]!, key, data }
  })
}

test('an init and parts cut anywhere, also with B-frames, are one MP4 in which ffmpeg finds every frame at its time', () => {
  const tracks = mp4Tracks(recorded.tracks)
  const [video, audio] = tracks.map(({ info, timescale }) => samplesOf(recorded, info.kind, timescale))
  const parts = Array.from({ length: 10 }, (_, at) =>
    partOf(at, [
      { id: 1, samples: video!.slice(at * 5, at * 5 + 5) },
      { id: 2, samples: audio!.slice(at * 9, at === 9 ? undefined : at * 9 + 9) },
    ]),
  )
  const file = join(folder, 'joined.mp4')
  writeFileSync(file, Buffer.concat([initOf(tracks), ...parts]))
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-show_packets', '-of', 'json', file]
  const probed = JSON.parse(execFileSync('ffprobe', args).toString()) as {
    streams: { codec_name: string; width?: number; height?: number; sample_rate?: string; nb_read_frames: string }[]
    packets: { codec_type: string; pts_time: string; flags: string; size: string }[]
  }
  expect(probed.streams).toMatchObject([
    { codec_name: 'h264', width: 320, height: 180, nb_read_frames: '50' },
    { codec_name: 'aac', sample_rate: '44100', nb_read_frames: String(audio!.length) },
  ])
  const found = probed.packets.filter(({ codec_type }) => codec_type === 'video')
  expect(found.map(({ size }) => Number(size))).toEqual(video!.map(({ data }) => data.length))
  expect(found.map(({ flags }) => flags.startsWith('K'))).toEqual(video!.map(({ key }) => key))
  for (const [at, { pts_time }] of found.entries()) expect(Number(pts_time)).toBeCloseTo(video![at]!.pts / 90_000, 4)
})

test('a fragment says where its samples lie, and leaves out a track without any', () => {
  const sample = (dts: number, size: number): Sample => {
    return { dts, pts: dts, duration: 3000, key: dts === 0, data: Buffer.alloc(size, size) }
  }
  const bytes = partOf(7, [
    { id: 1, samples: [sample(0, 10), sample(3000, 20)] },
    { id: 2, samples: [] },
    { id: 3, samples: [sample(5000, 30)] },
  ])
  const moof = find(viewOf(bytes), 'moof')!
  expect(find(moof, 'mfhd')!.getUint32(4)).toBe(7)
  const trafs = allBoxes(moof, 'traf').map((traf) => {
    const [tfhd, tfdt, trun] = ['tfhd', 'tfdt', 'trun'].map((type) => find(traf, type)!)
    const first = bytes[trun!.getInt32(8)]
    return [tfhd!.getUint32(4), Number(tfdt!.getBigUint64(4)), trun!.getUint32(4), first]
  })
  expect(trafs).toEqual([
    [1, 0, 2, 10],
    [3, 5000, 1, 30],
  ])
})

test('codecs have their names of RFC 6381, and no name is made up', () => {
  expect(codecsOf(recorded.tracks)).toMatch(/^avc1\.[0-9a-f]{6},mp4a\.40\.2$/)
  expect(codecsOf(recorded.tracks.map((track) => ({ ...track, config: new Uint8Array() })))).toBe('')
})
