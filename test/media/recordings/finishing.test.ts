import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { finishingSteps } from '../../../src/media/recordings/finishing.ts'

test('a recording whose size changed forty times took 1.4 GB to be finished, since all of its parts were open at once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-finishing-'))
  const ffmpeg = (args: readonly string[], input = ''): string =>
    execFileSync('ffmpeg', ['-v', 'error', ...args], { input, encoding: 'utf8' })
  const made = ['64x64', '128x64'].map((size) => {
    const file = join(folder, `${size}.mkv`)
    const source = ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=30`, '-f', 'lavfi', '-i', 'sine', '-t', '0.5']
    ffmpeg([...source, '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac', file])
    return file
  })
  const parts = Array.from({ length: 21 }, (_, at) => ({
    file: made[at % 2] ?? '',
    tracks: [
      { kind: 'video', codec: 'h264', width: 64 * (1 + (at % 2)), height: 64 } as const,
      // Audio came later.
      ...(at < 2 ? [] : [{ kind: 'audio', codec: 'aac' } as const]),
    ],
  }))
  const output = join(folder, 'out.mp4')
  const steps = finishingSteps(parts, output)
  expect(steps.map(({ args }) => args.filter((arg) => arg === '-i').length)).toEqual([5, 5, 5, 5, 1, 1])
  for (const { args, script } of steps)
    ffmpeg(script === undefined ? args : ['-protocol_whitelist', 'pipe,file', ...args], script)
  const asked = ['-show_entries', 'stream=codec_name,width,nb_read_frames,duration', '-of', 'csv=p=0', '-count_frames']
  const [video = '', audio = ''] = execFileSync('ffprobe', ['-v', 'error', ...asked, output], {
    encoding: 'utf8',
  }).split('\n')
  const [codec, width, videoSeconds, frames] = video.split(',')
  expect([codec, width]).toEqual(['h264', '128'])
  expect(Number(frames)).toBeGreaterThanOrEqual(21 * 15)
  // A part lasts as long as its longer track, and whole frames of AAC are longer than half a second.
  const seconds = [videoSeconds, audio.split(',')[1]].map(Number)
  expect(seconds.map(Math.floor), seconds.join(' and ')).toEqual([11, 11])
})
