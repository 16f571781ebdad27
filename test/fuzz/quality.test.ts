import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { cmcdOfUrl, readCmcd } from '../../src/core/quality/cmcd.ts'
import { readPlayerReport } from '../../src/core/quality/playerReport.ts'
import { qualityByHour, SessionQuality } from '../../src/core/quality/sessionQuality.ts'
import { cases } from '../support/randomCases.ts'

const AGE = { nowMs: Date.UTC(2026, 0, 31, 12), ageMs: 60_000 }
const BOUND = 120_000

const word = fc.constantFrom(
  'bl',
  'bs',
  'mtp',
  'su',
  'sid',
  '=',
  ',',
  '"',
  '\\',
  ' ',
  '0',
  '21300',
  '-',
  '.',
  'x',
  '%',
  '%2C',
  'é',
  '\0',
)
const text = fc.oneof(
  fc.array(word, { maxLength: 300, size: 'max' }).map((words) => words.join('')),
  fc.string({ unit: 'binary' }),
)

it('reads any CMCD in linear time into values within their bounds', () => {
  fc.assert(
    fc.property(text, (given) => {
      const cmcd = readCmcd(given)
      if (cmcd === null) return
      expect(cmcd.bufferMs ?? 0).toBeLessThanOrEqual(600_000)
      expect(cmcd.kbps ?? 0).toBeLessThanOrEqual(10_000_000)
      expect(cmcdOfUrl(`/hls/a?CMCD=${encodeURIComponent(given)}`)).toBe(given)
    }),
    cases(3000),
  )
})

it('reads back any list of keys that a player may send', () => {
  const value = fc.oneof(
    fc.nat(99_999).map(String),
    fc.string({ maxLength: 9 }).map((one) => JSON.stringify(one)),
  )
  const other = fc.tuple(fc.stringMatching(/^x-[a-z]{1,8}$/), value).map((pair) => pair.join('='))
  fc.assert(
    fc.property(fc.array(other, { maxLength: 8 }), fc.nat(9999), fc.boolean(), (others, bufferMs, isStarved) => {
      const keys = [...others, `bl=${bufferMs}`, ...(isStarved ? ['bs'] : [])]
      expect(readCmcd(keys.join())).toEqual({ isStarved, isUrgent: false, bufferMs, kbps: null })
    }),
    cases(2000),
  )
})

it('takes any report within what the age of the session allows, and no sum ever falls', () => {
  const n = fc.oneof(fc.nat(5), fc.constantFrom(-1, 0.5, 1e15, Number.MAX_SAFE_INTEGER))
  const report = fc.record(
    {
      n,
      start: n,
      played: n,
      stalls: n,
      stalled: n,
      frames: n,
      dropped: n,
      switches: n,
      height: n,
      behind: n,
      failed: fc.constantFrom('left', 'x'),
    },
    { requiredKeys: ['n', 'played'] },
  )
  fc.assert(
    fc.property(fc.array(report, { maxLength: 6 }), (reports) => {
      const quality = new SessionQuality()
      let playedBefore = 0
      for (const one of reports) {
        const read = readPlayerReport(JSON.stringify(one))
        if (read.ok) quality.report(read.value, AGE)
        const [sums] = [...qualityByHour(quality.toText()).values()].map((hour) => hour.sums)
        expect(sums?.playedMs ?? 0).toBeGreaterThanOrEqual(playedBefore)
        expect(Math.max(sums?.playedMs ?? 0, sums?.stalledMs ?? 0, sums?.startMs ?? 0)).toBeLessThanOrEqual(BOUND)
        expect((sums?.players ?? 0) + (sums?.starts ?? 0)).toBeLessThanOrEqual(2)
        playedBefore = sums?.playedMs ?? 0
      }
    }),
    cases(2000),
  )
})
