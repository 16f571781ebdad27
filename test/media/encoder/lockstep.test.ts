import { expect, test } from 'vitest'
import { type Break, Lockstep } from '../../../src/media/encoder/lockstep.ts'
import type { Frame } from '../../../src/media/frame.ts'

/** Two rungs. What passes is noted as `rung@seconds`, and the begin of each group with its break. */
function lockstep() {
  const passed: string[] = []
  const breaks: Break[] = []
  const step = new Lockstep(2, {
    begin: (before) => void breaks.push(before),
    pass: (rung, { decodeTimeUs }) => void passed.push(`${rung}@${decodeTimeUs / 1e6}`),
  })
  const frame = (rung: number, seconds: number, key = false): void => {
    const timeUs = Math.round(seconds * 1e6)
    step.frame(rung, { kind: 'video', key, timeUs, decodeTimeUs: timeUs, data: new Uint8Array() } satisfies Frame)
  }
  /** A group with a frame each half second. */
  const group = (rung: number, from: number, length = 2): void => {
    for (let at = 0; at < length; at += 0.5) frame(rung, from + at, at === 0)
  }
  step.open()
  return { passed, breaks, frame, group }
}

test('nothing passes before it is open', () => {
  const passed: number[] = []
  const step = new Lockstep(1, { begin: () => undefined, pass: (_, { timeUs }) => void passed.push(timeUs) })
  for (const timeUs of [0, 500, 1000])
    step.frame(0, { kind: 'video', key: timeUs === 0, timeUs, decodeTimeUs: timeUs, data: new Uint8Array() })
  expect(passed).toEqual([])
  step.open()
  expect(passed).toEqual([0, 500, 1000])
})

test('a rung that is ahead waits for the other one at each keyframe, and for nothing else', () => {
  const { passed, frame, group } = lockstep()
  group(0, 0)
  expect(passed).toEqual([])
  frame(1, 0.02, true)
  expect(passed).toEqual(['0@0', '0@0.5', '0@1', '0@1.5', '1@0.02'])
  frame(1, 0.5)
  frame(0, 2, true)
  frame(0, 2.5)
  expect(passed.slice(5)).toEqual(['1@0.5'])
  frame(1, 2.02, true)
  expect(passed.slice(6)).toEqual(['0@2', '0@2.5', '1@2.02'])
})

test('a group that one rung lacks is left out of all, also its later frames', () => {
  const { passed, breaks, frame, group } = lockstep()
  for (const rung of [0, 1]) group(rung, 0)
  // Rung 1 repeats pictures while rung 0 has a gap.
  group(1, 2)
  group(1, 4)
  group(0, 8)
  frame(1, 6, true)
  frame(1, 8, true)
  frame(1, 8.5)
  expect(passed.slice(8)).toEqual(['0@8', '0@8.5', '0@9', '0@9.5', '1@8', '1@8.5'])
  expect(breaks).toEqual(['none', 'gap'])
})

test('a gap within a group and a clock that goes back are breaks before the next group, once', () => {
  const { breaks, frame, group } = lockstep()
  for (const rung of [0, 1]) frame(rung, 0, true)
  for (const rung of [0, 1]) frame(rung, 1.5)
  for (const rung of [0, 1]) frame(rung, 1.6)
  for (const from of [2, 4, 1, 3]) for (const rung of [0, 1]) group(rung, from)
  expect(breaks).toEqual(['none', 'gap', 'none', 'back', 'none'])
})

test('a rung that stands still holds a bounded number of frames, and both go on when it does', () => {
  const { passed, group } = lockstep()
  for (const rung of [0, 1]) group(rung, 0)
  for (let from = 2; from < 1000; from += 2) group(0, from)
  const before = passed.length
  group(1, 998)
  expect(passed.slice(before)).toEqual(['0@998', '0@998.5', '0@999', '0@999.5', '1@998', '1@998.5', '1@999', '1@999.5'])
  group(1, 1000)
  group(0, 1000)
  expect(passed.at(-1)).toBe('0@1001.5')
})

test('rungs that follow the keyframes of another one are matched by the times at which pictures are shown', () => {
  const passed: string[] = []
  const step = new Lockstep(
    2,
    { begin: () => void passed.push('begin'), pass: (rung, { timeUs }) => void passed.push(`${rung}@${timeUs / 1e6}`) },
    0,
  )
  /** The leader has B-frames, so it decodes earlier than it shows. */
  const frame = (rung: number, seconds: number, key = false): void => {
    const timeUs = Math.round(seconds * 1e6)
    const decodeTimeUs = timeUs - (rung === 0 ? 300_000 : 0)
    step.frame(rung, { kind: 'video', key, timeUs, decodeTimeUs, data: new Uint8Array() })
  }
  step.open()
  // Closer together than two frames that count as the same without a leader.
  for (const at of [10, 10.4, 10.8]) frame(0, at, true)
  frame(1, 10.4, true)
  expect(passed).toEqual(['begin', '0@10.4', '1@10.4'])
  // Its encoder takes a picture for a keyframe which is none in the source.
  frame(1, 10.6, true)
  frame(1, 10.8, true)
  expect(passed.slice(3)).toEqual(['1@10.6', 'begin', '0@10.8', '1@10.8'])
})
