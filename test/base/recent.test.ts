import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Recent } from '../../src/base/recent.ts'

test('recent samples are the last ones, within the time window and the maximum number', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 60, size: 'max' })
  const bounds = fc.record({ keptMs: fc.integer({ min: 1, max: 200 }), most: fc.integer({ min: 1, max: 20 }) })
  fc.assert(
    fc.property(steps, bounds, fc.nat(500), fc.nat(500), (pauses, { keptMs, most }, fromMs, untilMs) => {
      const recent = new Recent<{ atMs: number }>(keptMs, most)
      let nowMs = 0
      const all = pauses.map((pause) => ({ atMs: (nowMs += pause) }))
      for (const sample of all) recent.add(sample)
      const kept = all.filter(({ atMs }) => atMs >= nowMs - keptMs).slice(-most)
      expect(recent.within(0, Number.POSITIVE_INFINITY)).toEqual(kept)
      expect(recent.within(fromMs, untilMs)).toEqual(kept.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs))
      expect(recent.lastAtMs).toBe(kept.at(-1)?.atMs ?? null)
    }),
  )
})
