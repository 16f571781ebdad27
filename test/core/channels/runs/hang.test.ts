import { expect, test } from 'vitest'
import { HangWatch, type Motion } from '../../../../src/core/channels/runs/hang.ts'
import type { PaceSample } from '../../../../src/core/channels/runs/pace.ts'

/** It was encoding for a second, and goes on as these samples say. */
function watch(seconds: number, lookAt: (second: number) => Partial<PaceSample>): Motion[] {
  const watch = new HangWatch()
  const base = { dueMs: 0, droppedFrames: 0, droppedMs: 0, isReadyToRun: false }
  const stuck = (at: number) => ({ ...base, atMs: at * 1000, leadMs: at * 1000, outMs: 500, cpuMs: 700 })
  watch.look({ ...stuck(0), outMs: 0, cpuMs: 200 })
  return Array.from({ length: seconds }, (_, at) => watch.look({ ...stuck(at + 1), ...lookAt(at + 1) }))
}
const hangsAfter = (motions: readonly Motion[]): number => motions.indexOf('hangs')

test('a process that takes media, makes nothing and uses no processor hangs after three seconds', () => {
  expect(watch(4, () => ({}))).toEqual(['moves', 'stands', 'stands', 'hangs'])
})

test('a process that is slow, or gets a little of the processor, does not hang', () => {
  expect(new Set(watch(20, (at) => ({ outMs: 500 + at * 10 })))).toEqual(new Set(['moves']))
  expect(hangsAfter(watch(20, (at) => ({ cpuMs: 700 + 10 * Math.floor(at / 2) })))).toBe(-1)
})

test('a process without a source, or with a camera that is switched off, does not hang, nor when its media comes back', () => {
  const back = (at: number) => ({ leadMs: at < 20 ? 1000 : at * 1000, outMs: at < 21 ? 500 : at * 1000 })
  expect(hangsAfter(watch(30, back))).toBe(-1)
})

test('a process whose source sends a frame every five seconds hangs after three that it did not take', () => {
  const slow = (at: number) => ({ leadMs: 5000 * Math.floor(at / 5) })
  expect(hangsAfter(watch(20, slow)) + 1).toBe(15)
  expect(hangsAfter(watch(60, (at) => ({ ...slow(at), outMs: 500 + 5000 * Math.floor((at - 1) / 5) })))).toBe(-1)
})

test('a process that has made nothing yet has ten seconds', () => {
  expect(hangsAfter(watch(20, () => ({ outMs: 0 })))).toBe(10)
})

test('a process that the machine lets wait for a processor does not hang, and one that then sleeps does three seconds later', () => {
  expect(new Set(watch(30, () => ({ isReadyToRun: true })))).toEqual(new Set(['moves']))
  expect(hangsAfter(watch(30, (at) => ({ isReadyToRun: at <= 20 })))).toBe(22)
})

test('without processor times no process hangs', () => {
  expect(new Set(watch(20, () => ({ cpuMs: null })))).toEqual(new Set(['moves']))
})
