import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Frame } from '../../../src/media/frame.ts'
import { InStep } from '../../../src/media/convert/inStep.ts'

function stepping() {
  const clock = new ManualClock()
  const passed: string[] = []
  const step = new InStep(clock, ({ kind, timeUs }) => passed.push(`${kind} ${timeUs / 1000}`))
  const frame = (kind: Frame['kind'], ms: number): Frame => {
    const timeUs = ms * 1000
    return { kind, timeUs, decodeTimeUs: timeUs, key: true, data: new Uint8Array() }
  }
  return {
    clock,
    passed,
    flush: () => step.flush(),
    picture: (ms: number) => step.picture(frame('video', ms)),
    sound: (ms: number) => step.sound(frame('audio', ms)),
  }
}

test('pictures wait for the sound of their time, in their order', () => {
  const { picture, sound, passed } = stepping()
  sound(0)
  for (const ms of [33, 66, 100]) picture(ms)
  expect(passed).toEqual(['audio 0'])
  sound(70)
  expect(passed).toEqual(['audio 0', 'audio 70', 'video 33', 'video 66'])
  sound(100)
  expect(passed.at(-1)).toBe('video 100')
})

test('before any sound has come nothing waits', () => {
  const { picture, passed } = stepping()
  picture(0)
  picture(33)
  expect(passed).toEqual(['video 0', 'video 33'])
})

test('sound that does not come is not waited for until it is there again', () => {
  const { picture, sound, passed, clock } = stepping()
  sound(0)
  picture(33)
  clock.advance(199)
  picture(66)
  expect(passed).toEqual(['audio 0'])
  clock.advance(1)
  picture(99)
  picture(132)
  expect(passed).toEqual(['audio 0', 'video 33', 'video 66', 'video 99', 'video 132'])
  sound(120)
  picture(165)
  expect(passed.slice(5)).toEqual(['audio 120'])
})

test('sound that an encoder always sends late is waited for once, and pictures flow', () => {
  const { picture, sound, passed, clock } = stepping()
  for (let ms = 0; ms < 2000; ms += 40) {
    picture(300 + ms)
    sound(ms)
    expect(passed.filter((one) => one.startsWith('video')).length).toBe(ms / 40 + 1)
    clock.advance(40)
  }
})

test('what waits goes on when other times begin', () => {
  const { picture, sound, passed, flush } = stepping()
  sound(0)
  picture(5000)
  flush()
  expect(passed).toEqual(['audio 0', 'video 5000'])
})
