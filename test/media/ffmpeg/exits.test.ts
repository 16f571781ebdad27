import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { exitReason, exitUnlessStalled, wasKilled } from '../../../src/media/ffmpeg/exits.ts'
import type { FfmpegExit } from '../../../src/media/ffmpeg/ffmpeg.ts'

const NOISE = '[swscaler @ 0x1] deprecated pixel format used'

test('the reason of a killed process names the signal and not its output, with and without a shell', () => {
  for (const exit of [
    { code: null, signal: 'SIGKILL', tail: NOISE },
    { code: 137, signal: null, tail: NOISE },
  ] as const) {
    expect(exitReason(exit)).toBe('ffmpeg was killed (SIGKILL), as the system does when memory runs out')
    expect(wasKilled(exit)).toBe(true)
  }
  expect(exitReason({ code: 143, signal: null, tail: NOISE })).toBe('ffmpeg was ended from outside (SIGTERM)')
})

test('the reason of a failed process is its last output', () => {
  const failed = { code: 1, signal: null, tail: 'a warning\nConversion failed!\n' }
  expect([exitReason(failed), wasKilled(failed)]).toEqual(['ffmpeg ended with 1: Conversion failed!', false])
  expect(exitReason({ code: 234, signal: null, tail: '' })).toBe('ffmpeg ended with 234')
  const crashed = { code: null, signal: 'SIGSEGV', tail: 'x'.repeat(400) } as const
  expect(exitReason(crashed)).toBe(`ffmpeg ended with SIGSEGV: ${'x'.repeat(300)}`)
})

test('a process is killed when its progress stands from one look to the next, and not before', async () => {
  const clock = new ManualClock()
  const { promise: exited, resolve } = Promise.withResolvers<FfmpegExit>()
  const warnings: string[] = []
  const log = { info: () => undefined, warn: (_: object, message?: string) => void warnings.push(message ?? '') }
  const process = {
    progress: { outTimeMs: 40 },
    exited,
    stop: () => (resolve({ code: null, signal: 'SIGKILL', tail: '' }), exited),
  }
  const exit = exitUnlessStalled(process, { clock, log, name: 'slate', everyMs: 1000 })
  const look = async (outTimeMs: number): Promise<void> => {
    process.progress = { outTimeMs }
    clock.advance(1000)
    await new Promise(setImmediate)
  }
  for (const ms of [40, 80, 120]) await look(ms)
  expect(warnings).toEqual([])
  await look(120)
  expect([(await exit).signal, warnings]).toEqual(['SIGKILL', ['an ffmpeg makes no progress and is killed']])
})
