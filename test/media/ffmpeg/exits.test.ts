import { expect, test } from 'vitest'
import { exitReason, wasKilled } from '../../../src/media/ffmpeg/exits.ts'

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
