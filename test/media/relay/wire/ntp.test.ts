import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { middleOf, ntpOf, roundTripOf, wallOf } from '../../../../src/media/relay/wire/ntp.ts'

/** Until NTP's era ends, in 2036. */
const walls = fc.integer({ min: 0, max: Date.UTC(2036, 1, 1) })
const ticksOf = (ms: number): number => Math.round((ms * 65_536) / 1000)

describe('NTP time', () => {
  it('is wall time, to the millisecond', () => {
    fc.assert(fc.property(walls, (wall) => Math.abs(wallOf(ntpOf(wall)) - wall) < 0.001))
    expect(ntpOf(0)).toEqual({ ntpSeconds: 2_208_988_800, ntpFraction: 0 })
  })

  it('tells how long a report was on its way, whatever the time is and however long it lay there', () => {
    fc.assert(
      fc.property(walls, fc.integer({ min: 1, max: 5000 }), fc.nat(20_000), (left, way, lay) => {
        const report = { lastReport: middleOf(ntpOf(left)), delaySinceLastReport: ticksOf(lay) }
        fc.pre(report.lastReport !== 0)
        const found = roundTripOf(report, left + way + lay)
        expect(Math.abs((found?.roundTripMs ?? 1e9) - way)).toBeLessThan(0.1)
        expect(Math.abs((found?.leftAtMs ?? 0) - left)).toBeLessThan(0.1)
      }),
    )
  })

  it('tells a round trip of no time, and one of a minute', () => {
    const now = 100_000
    const since = (leftMs: number, delaySinceLastReport: number) =>
      roundTripOf({ lastReport: middleOf(ntpOf(leftMs)), delaySinceLastReport }, now)?.roundTripMs
    expect([since(now - 1000, 65_536), since(now - 60_000, 0), since(now - 60_001, 0)]).toEqual([0, 60_000, undefined])
  })

  it.each([
    ['that had no report of ours', { lastReport: 0, delaySinceLastReport: 5 }],
    ['from later than now', { lastReport: middleOf(ntpOf(10_500)), delaySinceLastReport: 0 }],
    ['that lay longer than it is old', { lastReport: middleOf(ntpOf(9000)), delaySinceLastReport: ticksOf(2000) }],
    ['of long ago', { lastReport: middleOf(ntpOf(10_000 - 3_600_000)), delaySinceLastReport: 0 }],
  ])('tells nothing by a report %s', (_what, report) => {
    expect(roundTripOf(report, 10_000)).toBeNull()
  })
})
