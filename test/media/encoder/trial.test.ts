import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import { tryEncoder } from '../../../src/media/encoder/trial.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { videoEncoderOf, X264 } from '../../../src/media/ffmpeg/videoEncoders.ts'
import { ffmpegWithNvenc } from '../../support/hardwareFfmpeg.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-trial-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A slow machine needs more than the eight seconds of a trial. */
const STANDING = new ManualClock()

const ffmpegAt = (binary: string, clock: Clock = systemClock) =>
  createFfmpeg({ log: silentLog, clock, binary, maxChildren: () => 1, offline })

function named(name: 'h264_nvenc' | 'h264_v4l2m2m') {
  const encoder = videoEncoderOf(name, '')
  if (!encoder.ok) throw new Error(encoder.error)
  return encoder.value
}

/** What the trial finds wrong with an encoder of NVENC that is libx264 with these options. */
async function tried(more: string): Promise<string | null> {
  const { path } = ffmpegWithNvenc(folder, more)
  return tryEncoder(ffmpegAt(path), STANDING, named('h264_nvenc'))
}

test('libx264 works, and NVENC without a GPU does not, with the words of ffmpeg', async () => {
  const ffmpeg = ffmpegAt('ffmpeg')
  expect(await tryEncoder(ffmpeg, STANDING, X264)).toBeNull()
  expect(await tryEncoder(ffmpeg, STANDING, named('h264_nvenc'))).toMatch(/^ffmpeg ended with [^0].*: \S/)
  expect(ffmpeg.running).toBe(0)
})

test('an ffmpeg whose encoder works passes, and gets the options of the encoder', async () => {
  const { path, calls } = ffmpegWithNvenc(folder)
  expect(await tryEncoder(ffmpegAt(path), STANDING, named('h264_nvenc'))).toBeNull()
  expect(readFileSync(calls, 'utf8')).toContain('-c:v h264_nvenc -preset p2 -tune ll -rc vbr -forced-idr 1')
})

test('what encodes, but not as channels need it, does not pass', async () => {
  expect(await tried('-force_key_frames 0')).toBe('it made keyframes at the frames 0, not at 0, 50')
  expect(await tried('-g 10')).toMatch(/^it made keyframes at the frames 0, 10, /)
  expect(await tried('-bf 2 -tune:v film')).toBe('it made B-frames')
  expect(await tried('-frames:v 60')).toBe('it made 60 of 75 frames')
  expect(await tried('-s 320x180')).toBe('its output has the size 320x180')
})

test('an encoder that keeps its parameter sets in the stream works with a late header only', async () => {
  const inStream = '-flags:v -global_header -bsf:v dump_extra'
  const { path } = ffmpegWithNvenc(folder, inStream)
  const nvenc = named('h264_nvenc')
  const { muxing } = named('h264_v4l2m2m')
  expect(await tryEncoder(ffmpegAt(path), STANDING, nvenc)).toBe('its output has no H.264')
  expect(await tryEncoder(ffmpegAt(path), STANDING, { ...nvenc, muxing })).toBeNull()
})

test('an ffmpeg that hangs is killed after eight seconds, and one that is missing is named', async () => {
  const path = join(folder, 'hangs')
  writeFileSync(path, '#!/bin/sh\nexec sleep 60\n')
  chmodSync(path, 0o755)
  const clock = new ManualClock()
  const ffmpeg = ffmpegAt(path, clock)
  const trial = tryEncoder(ffmpeg, clock, X264)
  await vi.waitFor(() => expect(ffmpeg.running).toBe(1), 30_000)
  clock.advance(8000)
  await vi.waitFor(() => {
    clock.advance(1)
    expect(ffmpeg.running).toBe(0)
  }, 30_000)
  expect(await trial).toBe('ffmpeg did not finish within 8 seconds')
  const missing = await tryEncoder(ffmpegAt(join(folder, 'none')), STANDING, X264)
  expect(missing).toMatch(/^There is no program /)
})
