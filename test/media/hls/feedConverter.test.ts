import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { CODECS } from '../../../src/media/codecs/codecs.ts'
import { HLS_OFFSET_MS } from '../../../src/media/ffmpeg/arguments.ts'
import type { Ffmpeg, FfmpegJob } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { type Frame, rtpAudioTrack } from '../../../src/media/frame.ts'
import { FeedConverter } from '../../../src/media/hls/feedConverter.ts'
import { AVC_CONFIG, aacConfig, aggregateOf, audioFrame } from '../rtmp/media.ts'

const STEP_MS = 40

test('video that waited for a slow ffmpeg came before all of its audio, and not in step with it', async () => {
  const jobs: FfmpegJob[] = []
  const process = {
    write: () => true,
    end: () => undefined,
    stop: async () => undefined,
    exited: new Promise(() => undefined),
  }
  const ffmpeg = { run: (job: FfmpegJob) => (jobs.push(job), { ok: true, value: process }) } as unknown as Ffmpeg
  const passed: string[] = []
  const converter = new FeedConverter({
    ffmpeg,
    clock: new ManualClock(),
    name: 'show',
    passes: ({ codec }) => CODECS[codec].inHls === 'always',
    out: {
      tracks: (tracks) => passed.push(tracks.map(({ codec }) => codec).join(' ')),
      frame: ({ kind, timeUs }) => passed.push(`${kind} ${timeUs / 1000}`),
      end: () => undefined,
    },
    stallMs: 10_000,
    failed: () => undefined,
  })
  const frame = (kind: Frame['kind'], ms: number): void => {
    const timeUs = ms * 1000
    converter.frame({ kind, timeUs, decodeTimeUs: timeUs, key: true, data: new Uint8Array(100) })
  }
  const video = { kind: 'video', codec: 'h264', width: 64, height: 64, config: AVC_CONFIG } as const
  converter.tracks([video, rtpAudioTrack('opus', 48_000)])
  const times = [0, 1, 2, 3].map((index) => index * STEP_MS)
  for (const ms of times) for (const kind of ['video', 'audio'] as const) frame(kind, ms)
  expect(passed).toEqual([])
  const converted = times.map((ms) => audioFrame(HLS_OFFSET_MS + ms))
  jobs[0]?.stdout?.(Buffer.concat([Buffer.alloc(13), aggregateOf(0, [aacConfig(), ...converted]).payload]))
  await new Promise(setImmediate)
  expect(passed).toEqual(['h264 aac', ...times.flatMap((ms) => [`audio ${ms}`, `video ${ms}`])])
})
