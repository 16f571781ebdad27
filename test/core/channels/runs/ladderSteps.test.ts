import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coresPerMegapixel, LadderSteps } from '../../../../src/core/channels/runs/ladderSteps.ts'
import { noticeText } from '../../../../src/core/notices.ts'
import type { Pace } from '../../../../src/core/channels/runs/pace.ts'
import {
  heavier,
  lighter,
  megapixelsOf,
  type Rung,
  rungsOf,
  sumOf,
  weigh,
} from '../../../../src/core/channels/runs/rungs.ts'

const rendition = (label: string, width: number, height: number) => ({
  id: label,
  label,
  width,
  height,
  bitrate: 1_000_000,
  frameRate: null,
})
const LADDER = [rendition('360p', 640, 360), rendition('1080p', 1920, 1080), rendition('720p', 1280, 720)]

const well: Pace = { speed: 1, lagMs: 0, droppedFrames: 0, cores: 1, isSettled: true, isOverloaded: false }
const slow = (speed: number): Pace => ({ ...well, speed, isOverloaded: true })
const at30 = (): number => 30
const always = (): boolean => true

const labels = (rungs: readonly Rung[]): string[] => rungs.map(({ label }) => label)
const MINUTE = 60_000

test('a rendition with half of its frames is not whole, though its frame rate has the same numerator or denominator', () => {
  const [rung] = rungsOf(LADDER.slice(0, 1).map((one) => ({ ...one, frameRate: { value: 30, scale: 1 } })))
  if (!rung) expect.fail()
  for (const frameRate of [
    { value: 15, scale: 1 },
    { value: 30, scale: 2 },
  ])
    expect(heavier([weigh(rung, null)], [{ ...rung, frameRate }], always)).toEqual([rung])
  expect(heavier([weigh(rung, null)], [{ ...rung, frameRate: { value: 30, scale: 1 } }], always)).toBeNull()
})

describe('an engine that is overloaded', () => {
  test('leaves out as many of its largest renditions as necessary, and keeps one', () => {
    for (const [speed, kept] of [
      [0.9, ['360p', '720p']],
      [0.45, ['360p', '720p']],
      [0.35, ['360p']],
      [0.01, ['360p']],
    ] as const) {
      const steps = new LadderSteps(rungsOf(LADDER), true)
      expect(steps.look(slow(speed), at30, 0, always)).toBe(true)
      expect(labels(steps.rungs)).toEqual(kept)
    }
  })

  test('keeps the ladder index of a rendition, because it names the folder', () => {
    const steps = new LadderSteps(rungsOf(LADDER), true)
    steps.look(slow(0.4), at30, 0, always)
    expect(steps.rungs.map(({ index, label }) => [index, label])).toEqual([
      [0, '360p'],
      [2, '720p'],
    ])
    expect(steps.leftOut).toEqual(['1080p'])
    expect(noticeText(steps.notice)).toBe(
      'To keep up, this engine leaves out 1080p until it is started again, or has had room for 10 minutes',
    )
  })

  test('with a single rendition drops every second frame, but not at a low frame rate', () => {
    const steps = new LadderSteps(rungsOf(LADDER.slice(1, 2)), true)
    expect(steps.look(slow(0.5), () => 60, 0, always)).toBe(true)
    expect(steps.rungs).toMatchObject([{ label: '1080p', index: 0, frameRate: { value: 30_000, scale: 1000 } }])
    expect(steps.leftOut).toEqual(['every second frame of 1080p'])
    expect(steps.look(slow(0.5), at30, 0, always)).toBe(true)
    expect(steps.look(slow(0.5), () => 15, 0, always)).toBe(false)
  })

  test('says in one sentence what it leaves out and of what it drops every second frame', () => {
    const steps = new LadderSteps(rungsOf(LADDER), true)
    steps.look(slow(0.01), () => 60, 0, always)
    steps.look(slow(0.5), () => 60, 0, always)
    expect(steps.leftOut).toEqual(['1080p', '720p', 'every second frame of 360p'])
    expect(noticeText(steps.notice)).toBe(
      'To keep up, this engine leaves out 1080p, 720p and every second frame of 360p until it starts again or has had ' +
        'room for 10 minutes',
    )
  })

  test('keeps a copied rendition, which costs nothing, and leaves out all others if it must', () => {
    const [small, large, middle] = rungsOf(LADDER)
    const rungs = [{ ...large, copy: true }, middle, small] as Rung[]
    const less = (capacity: number) =>
      labels(
        lighter(
          rungs.map((rung) => weigh(rung, 30)),
          capacity,
        ) ?? [],
      )
    expect([less(10), less(0.01)].map((kept) => kept.toSorted())).toEqual([['1080p', '360p'], ['1080p']])
    expect(lighter([weigh(rungs[0] as Rung, 30)], 0)).toBeNull()
    expect(coresPerMegapixel({ ...well, cores: 0.3 }, rungs, at30)).toBeNull()
  })

  test('changes nothing if that is switched off, or in the first ten seconds', () => {
    const off = new LadderSteps(rungsOf(LADDER), false)
    expect([off.look(slow(0.1), at30, 0, always), labels(off.rungs)]).toEqual([false, labels(rungsOf(LADDER))])
    const early = new LadderSteps(rungsOf(LADDER), true)
    expect(early.look({ ...slow(0.1), isSettled: false }, at30, 0, always)).toBe(false)
  })
})

describe('an engine with renditions left out', () => {
  function reduced() {
    const steps = new LadderSteps(rungsOf(LADDER), true)
    steps.look(slow(0.3), at30, 0, always)
    return steps
  }

  test('encodes all of them again after ten minutes without overload, if there is capacity', () => {
    const steps = reduced()
    expect(steps.look(well, at30, 10 * MINUTE - 1, always)).toBe(false)
    const asked: number[] = []
    const none = (megapixels: number): boolean => asked.push(megapixels) < 0
    expect(steps.look(well, at30, 10 * MINUTE, none)).toBe(false)
    expect(Math.max(...asked)).toBeCloseTo((1920 * 1080 + 1280 * 720) * 30e-6)
    expect(steps.look(well, at30, 11 * MINUTE, always)).toBe(true)
    expect([labels(steps.rungs), steps.leftOut, steps.notice]).toEqual([labels(rungsOf(LADDER)), [], []])
  })

  test('encodes as many of them again as the capacity allows', () => {
    const steps = reduced()
    expect(steps.look(well, at30, 10 * MINUTE, (megapixels) => megapixels < 30)).toBe(true)
    expect(labels(steps.rungs)).toEqual(['360p', '720p'])
  })

  test('waits twice as long after each failed step up, and the usual time after a successful one', () => {
    const steps = reduced()
    let nowMs = 0
    /** The time until the next step up. */
    const waited = (): number => {
      const sinceMs = nowMs
      while (!steps.look(well, at30, nowMs, always)) nowMs += MINUTE
      return (nowMs - sinceMs) / MINUTE
    }
    const waits = Array.from({ length: 6 }, () => {
      const minutes = waited()
      steps.look(slow(0.3), at30, (nowMs += MINUTE), always)
      return minutes
    })
    expect(waits).toEqual([10, 20, 40, 80, 160, 160])
    waited()
    steps.look(well, at30, (nowMs += 160 * MINUTE), always)
    steps.look(slow(0.3), at30, (nowMs += MINUTE), always)
    expect(waited()).toBe(10)
  })
})

const rungs = fc
  .array(fc.record({ width: fc.integer({ min: 2, max: 4000 }), height: fc.integer({ min: 2, max: 4000 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((sizes) => rungsOf(sizes.map(({ width, height }, at) => rendition(`rung ${at}`, width, height))))
const weighAll = (all: readonly Rung[]) => all.map((rung) => weigh(rung, 30))

test('a step down always costs less, a step up more, and both stay within the ladder', () => {
  fc.assert(
    fc.property(rungs, fc.double({ min: 0, max: 1, noNaN: true }), (full, share) => {
      const all = weighAll(full)
      const less = lighter(all, share * sumOf(all))
      if (full.length === 1) {
        expect(less).toMatchObject([{ index: 0, frameRate: { value: 15_000, scale: 1000 } }])
        return
      }
      expect(less?.length).toBeGreaterThan(0)
      expect(sumOf(weighAll(less ?? []))).toBeLessThan(sumOf(all))
      const more = heavier(all, less ?? [], (megapixels) => megapixels <= share * sumOf(all)) ?? []
      expect(more.every((rung) => full.includes(rung))).toBe(true)
      expect(more.length === 0 || more.length > (less?.length ?? 0)).toBe(true)
      expect(heavier(all, less ?? [], () => true)).toEqual(full)
    }),
  )
})

test('the cost of a megapixel is known once the speed and all frame rates are', () => {
  const full = rungsOf(LADDER)
  const megapixels = sumOf(full.map((rung) => weigh(rung, 25)))
  expect(coresPerMegapixel({ ...well, cores: 2, speed: 0.5 }, full, () => 25)).toBeCloseTo(2 / (megapixels * 0.5))
  expect(coresPerMegapixel({ ...well, isSettled: false }, full, () => 25)).toBeNull()
  expect(coresPerMegapixel({ ...well, cores: null }, full, () => 25)).toBeNull()
  expect(coresPerMegapixel(well, full, (index) => (index === 1 ? null : 25))).toBeNull()
  expect(megapixelsOf(weigh({ ...full[0]!, frameRate: { value: 50, scale: 2 } }, null))).toBeCloseTo(5.76)
})

describe('a rendition', () => {
  const copied = { ...rendition('720p', 1280, 720), copy: true as const }

  test('that the ladder copies is copied, unless its engine cannot', () => {
    expect(rungsOf([copied])[0]?.copy).toBe(true)
    expect(rungsOf([copied], false)[0]).not.toHaveProperty('copy')
  })

  test('is weighed by the frames that were counted, else by those of the ladder, else by those that are usual', () => {
    const [free, fixed] = rungsOf([rendition('free', 16, 16), { ...copied, frameRate: { value: 25, scale: 2 } }])
    expect([weigh(free!, 50), weigh(fixed!, null), weigh(free!, null)].map((one) => one.framesPerSecond)).toEqual([
      50, 12.5, 30,
    ])
  })
})
