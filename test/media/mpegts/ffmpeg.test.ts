import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { TsIngest } from '../../../src/media/mpegts/ingest.ts'
import { ticksBetween } from '../../../src/media/mpegts/ticks.ts'
import { hasOwnLayout } from '../../../src/media/codecs/aac.ts'
import { FlvFrames } from '../../../src/media/rtmp/flvFrames.ts'
import { clip, clipFile } from '../../support/clips.ts'
import { OWN_LAYOUT, readTs } from './clips.ts'

const SOURCE =
  '-f lavfi -i testsrc2=size=320x240:rate=25:duration=4 -f lavfi -i sine=frequency=440:sample_rate=44100:duration=4 ' +
  '-c:v libx264 -preset veryfast -g 25 -bf 2 -c:a aac -ac 2 -f mpegts'

interface Probed {
  readonly codec_type: 'video' | 'audio'
  readonly pts: number
  readonly dts: number
  readonly flags: string
}

/** Times are ticks of 90 kHz. */
interface Read {
  readonly kind: 'video' | 'audio'
  readonly presentation: number
  readonly decode: number
  readonly key: boolean
}

const SHOW = 'packet=codec_type,pts,dts,flags'

/** What ffmpeg reads in the file. */
function probe(path: string): Read[] {
  const { stdout } = spawnSync('ffprobe', ['-v', 'error', '-show_entries', SHOW, '-of', 'json', '-f', 'mpegts', path])
  const { packets } = JSON.parse(stdout.toString()) as { packets: Probed[] }
  return packets.map(({ codec_type: kind, pts, dts, flags }) => ({
    kind,
    presentation: pts,
    decode: dts,
    key: flags.startsWith('K'),
  }))
}

const toTicks = (us: number): number => (us * 90) / 1000

/** Rounded to microseconds here, and to ticks there. */
const areSame = (a: Read, b: Read): boolean =>
  a.kind === b.kind &&
  a.key === b.key &&
  Math.abs(ticksBetween(a.presentation, b.presentation)) <= 1 &&
  Math.abs(ticksBetween(a.decode, b.decode)) <= 1

test.each([
  ['as it writes them', SOURCE],
  ['with the times of audio in groups', `${SOURCE} -pes_payload_size 2000`],
  [
    'without B-frames, with tables at each keyframe',
    `${SOURCE.replace('-bf 2', '-bf 0')} -mpegts_flags +pat_pmt_at_frames`,
  ],
  [
    'of HEVC and Opus',
    SOURCE.replace('-c:v libx264', '-c:v libx265 -x265-params log-level=error').replace('-c:a aac', '-c:a libopus'),
  ],
  ['across the wrap of the times', `${SOURCE} -output_ts_offset 95441.9 -muxdelay 0`],
])('a transport stream of ffmpeg has the frames that ffmpeg reads in it, %s', (_, args) => {
  const bytes = clip(args, 'ts')
  const frames: Frame[] = []
  const leftOut: string[] = []
  const sink = { tracks: () => undefined, frame: (frame: Frame) => void frames.push(frame), end: () => undefined }
  let nowMs = 0
  const ingest = new TsIngest(sink, {
    clock: { monotonic: () => nowMs },
    maxFrameBytes: 1_000_000,
    leftOut: (what) => leftOut.push(what),
  })
  for (let at = 0; at < bytes.length; at += 1316) {
    nowMs = (4000 * at) / bytes.length
    expect(ingest.take(bytes.subarray(at, at + 1316))).toBeNull()
  }
  ingest.end()
  const read = frames.map(({ kind, timeUs, decodeTimeUs, key }) => ({
    kind,
    presentation: toTicks(timeUs),
    decode: toTicks(decodeTimeUs),
    key,
  }))
  const probed = probe(clipFile(args, 'ts'))
  expect(read.filter((one) => !probed.some((other) => areSame(one, other)))).toEqual([])
  expect(probed.filter((one) => !read.some((other) => areSame(one, other)))).toEqual([])
  expect(leftOut).toEqual([])
})

test('a layout of channels that AAC has in its first frame alone is in the configuration, as FLV has it', () => {
  const { tracks, frames, leftOut } = readTs(clip(`${OWN_LAYOUT} -f mpegts`, 'ts'))
  let [written] = tracks
  const sink = { tracks: (all: readonly TrackInfo[]) => ([written] = all), frame: () => undefined }
  new FlvFrames(['audio'], sink, (time) => time).push(clip(`${OWN_LAYOUT} -f flv`, 'flv'))
  const [read] = tracks
  expect([tracks.length, leftOut, frames.length > 40]).toEqual([1, [], true])
  // The comment at its end is left out.
  const length = (read?.config.length ?? 0) - 1
  expect(length).toBe(9)
  expect(read?.config.slice(0, length)).toEqual(Buffer.from(written?.config.slice(0, length) ?? []))
  expect([read, written].map((track) => track !== undefined && hasOwnLayout(track))).toEqual([true, true])
})
