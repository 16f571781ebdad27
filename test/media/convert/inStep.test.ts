import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Frame } from '../../../src/media/frame.ts'
import { InStep } from '../../../src/media/convert/inStep.ts'

function stepping(burstMs = 0) {
  const clock = new ManualClock()
  const passed: string[] = []
  const pass = ({ kind, timeUs }: Frame) => passed.push(`${kind} ${timeUs / 1000}`)
  const step = new InStep(clock, pass, { burstMs: () => burstMs })
  const frame = (kind: Frame['kind'], ms: number): Frame => {
    const timeUs = ms * 1000
    return { kind, timeUs, decodeTimeUs: timeUs, key: true, data: new Uint8Array() }
  }
  return {
    clock,
    passed,
    begin: () => step.begin(),
    flush: () => step.flush(),
    video: (ms: number) => step.video(frame('video', ms)),
    audio: (ms: number) => step.audio(frame('audio', ms)),
  }
}

test('video waits for the audio of its time, in order', () => {
  const { video, audio, passed } = stepping()
  audio(0)
  for (const ms of [33, 66, 100]) video(ms)
  expect(passed).toEqual(['audio 0'])
  audio(70)
  expect(passed).toEqual(['audio 0', 'audio 70', 'video 33', 'video 66'])
  audio(100)
  expect(passed.at(-1)).toBe('video 100')
})

test('video does not wait before the first audio', () => {
  const { video, passed } = stepping()
  video(0)
  video(33)
  expect(passed).toEqual(['video 0', 'video 33'])
})

test('video that came before the first audio waits for the audio of its time, but not for long', () => {
  const { begin, video, audio, passed, clock } = stepping()
  begin()
  for (const ms of [0, 33, 66]) video(ms)
  expect(passed).toEqual([])
  audio(0)
  audio(40)
  expect(passed).toEqual(['audio 0', 'video 0', 'audio 40', 'video 33'])
  clock.advance(200)
  video(99)
  expect(passed.slice(4)).toEqual(['video 66', 'video 99'])
})

test('video does not wait for missing audio until it returns', () => {
  const { video, audio, passed, clock } = stepping()
  audio(0)
  video(33)
  clock.advance(199)
  video(66)
  expect(passed).toEqual(['audio 0'])
  clock.advance(1)
  video(99)
  video(132)
  expect(passed).toEqual(['audio 0', 'video 33', 'video 66', 'video 99', 'video 132'])
  audio(120)
  video(165)
  expect(passed.slice(5)).toEqual(['audio 120'])
})

test('video waits once for audio that is always late, then flows', () => {
  const { video, audio, passed, clock } = stepping()
  for (let ms = 0; ms < 2000; ms += 40) {
    video(300 + ms)
    audio(ms)
    expect(passed.filter((one) => one.startsWith('video')).length).toBe(ms / 40 + 1)
    clock.advance(40)
  }
})

test('video waits longer for audio that came in bursts', () => {
  const { video, audio, passed, clock } = stepping(300)
  video(400)
  audio(0)
  for (let ms = 40; ms < 1000; ms += 40) {
    clock.advance(40)
    video(400 + ms)
    audio(ms)
  }
  expect(passed.filter((one) => one.startsWith('video')).at(-1)).toBe('video 960')
})

test('a flush releases the waiting video', () => {
  const { video, audio, passed, flush } = stepping()
  audio(0)
  video(5000)
  flush()
  expect(passed).toEqual(['audio 0', 'video 5000'])
})
