import { expect, it } from 'vitest'
import { SessionQuality } from '../../../src/core/quality/sessionQuality.ts'
import { viewerQualityOf } from '../../../src/core/quality/viewerQuality.ts'

const HOUR_MS = 3_600_000
const at = (ageMs: number) => ({ nowMs: Date.UTC(2026, 0, 31, 12) + ageMs, ageMs })
const REPORT = { n: 1, start: 800, played: 50_000, stalls: 1, stalled: 2000, frames: 1500, dropped: 3, switches: 0 }
const CMCD = { isStarved: false, isUrgent: false, bufferMs: 2000, kbps: 3000 }

it('sums up what the player of one session reported in all of its hours', () => {
  const quality = new SessionQuality()
  for (let hour = 0; hour < 6; hour++) {
    const ms = hour * HOUR_MS
    const more = {
      n: hour + 1,
      played: ms + 50_000,
      stalls: hour + 1,
      stalled: ms / 100,
      height: hour === 0 ? 360 : 720,
    }
    quality.report({ ...REPORT, ...more, behind: 400 + 100 * hour }, at(ms + 60_000))
  }
  quality.observe(CMCD, at(6 * HOUR_MS))
  expect(viewerQualityOf(quality.toText())).toEqual({
    reportedBy: 'player',
    startSeconds: 0.8,
    startFailure: null,
    playedSeconds: 18_050,
    stalls: 6,
    stalledSeconds: 180,
    behindSeconds: 0.65,
    droppedPercent: 0.2,
    height: 720,
  })
})

it('has what CMCD says where the player does not report, why there was no picture, and null where nothing was said', () => {
  const nothing = { playedSeconds: null, stalledSeconds: null, behindSeconds: null, droppedPercent: null, height: null }
  const other = new SessionQuality()
  other.observe({ ...CMCD, isUrgent: true }, at(100))
  other.observe(CMCD, at(1200))
  other.observe({ ...CMCD, isStarved: true }, at(9000))
  const said = { reportedBy: 'cmcd', startSeconds: 1.2, startFailure: null, stalls: 1 }
  expect(viewerQualityOf(other.toText())).toEqual({ ...nothing, ...said })
  const failed = new SessionQuality()
  const { start: _, ...none } = REPORT
  failed.report({ ...none, failed: 'not_connected', frames: 0, dropped: 0 }, at(9000))
  expect(viewerQualityOf(failed.toText())).toMatchObject({
    reportedBy: 'player',
    startSeconds: null,
    startFailure: 'not_connected',
    droppedPercent: null,
  })
  for (const empty of [null, new SessionQuality().toText()]) expect(viewerQualityOf(empty)).toBe(null)
})
