import { describe, expect, it } from 'vitest'
import { addQuality, noQuality, startMsOf } from '../../../src/core/quality/figures.ts'
import { type PlayerReport, readPlayerReport } from '../../../src/core/quality/playerReport.ts'
import { qualityByHour, SessionQuality } from '../../../src/core/quality/sessionQuality.ts'
import { shownQuality } from '../../../src/core/quality/shown.ts'

const HOUR_MS = 3_600_000
const BEGIN = Date.UTC(2026, 0, 31, 12)
const at = (ageMs: number) => ({ nowMs: BEGIN + ageMs, ageMs })

const ONE: PlayerReport = {
  n: 1,
  start: 800,
  played: 50_000,
  stalls: 1,
  stalled: 2000,
  frames: 1500,
  dropped: 3,
  switches: 0,
}
const TWO: PlayerReport = {
  ...ONE,
  n: 2,
  played: 100_000,
  stalls: 3,
  stalled: 6000,
  frames: 3000,
  height: 720,
  behind: 2500,
}

const sumsOf = (quality: SessionQuality) => {
  const all = noQuality()
  for (const hour of qualityByHour(quality.toText()).values()) addQuality(all, hour)
  return all.sums
}

describe('the reports of one session', () => {
  it('count what they have more than those before, so that repeated and reordered ones change nothing', () => {
    const inOrder = new SessionQuality()
    for (const [report, ageMs] of [
      [ONE, 60_000],
      [ONE, 60_500],
      [TWO, 120_000],
      [ONE, 120_100],
      [TWO, 120_200],
    ] as const)
      inOrder.report(report, at(ageMs))
    const lastAlone = new SessionQuality()
    lastAlone.report(TWO, at(120_000))
    expect(sumsOf(inOrder)).toEqual(sumsOf(lastAlone))
    expect(sumsOf(inOrder)).toMatchObject({
      players: 1,
      starts: 1,
      startMs: 800,
      playedMs: 100_000,
      stalls: 3,
      stalledMs: 6000,
    })
  })

  it('cannot say more than the age of the session allows', () => {
    const absurd = {
      n: 1,
      start: 1e12,
      played: 1e12,
      stalls: 1e12,
      stalled: 1e12,
      frames: 1e12,
      dropped: 1e12,
      switches: 1e12,
      behind: 1e12,
    }
    const quality = new SessionQuality()
    quality.report(absurd, at(30_000))
    const sums = sumsOf(quality)
    expect(sums).toMatchObject({
      starts: 1,
      startMs: 90_000,
      playedMs: 30_000,
      stalledMs: 90_000,
      stalls: 900,
      switches: 31,
    })
    expect(sums.frames).toBe(90 * 240)
    expect(sums.dropped).toBe(90 * 240)
    expect(sums.behindMs).toBe(HOUR_MS)
  })

  it('count in the hour in which they come, those of an ended session at most in the hour of its end', () => {
    const quality = new SessionQuality()
    quality.report(ONE, at(60_000))
    quality.report(TWO, at(HOUR_MS + 5000))
    const hours = () =>
      [...qualityByHour(quality.toText())].map(([ms, { sums }]) => [(ms - BEGIN) / HOUR_MS, sums.stalls])
    expect(hours()).toEqual([
      [0, 1],
      [1, 2],
    ])
    quality.endedAt(BEGIN + HOUR_MS - 1000)
    expect(hours()).toEqual([[0, 3]])
  })

  it('keep three hours, and the sum of those before', () => {
    const quality = new SessionQuality()
    for (let hour = 0; hour < 5; hour++)
      quality.report({ ...TWO, n: hour + 1, stalls: hour + 1 }, at(hour * HOUR_MS + 60_000))
    const hours = qualityByHour(quality.toText())
    expect([...hours.keys()]).toEqual([0, ...[2, 3, 4].map((hour) => BEGIN + hour * HOUR_MS)])
    expect([...hours.values()].map(({ sums }) => sums.stalls)).toEqual([2, 1, 1, 1])
  })

  it('start once, or fail to', () => {
    const quality = new SessionQuality()
    const { start: _, ...none } = ONE
    quality.report({ ...none, failed: 'not_connected' }, at(10_000))
    quality.report({ ...none, n: 2, failed: 'left' }, at(20_000))
    quality.report({ ...ONE, n: 3 }, at(30_000))
    const [hour] = qualityByHour(quality.toText()).values()
    expect(hour?.failures).toEqual(new Map([['not_connected', 1]]))
    expect(hour?.sums.starts).toBe(0)
  })

  it('come at a bounded rate', () => {
    const quality = new SessionQuality()
    const taken = Array.from({ length: 100 }, () => quality.mayReport(at(60_000))).filter(Boolean)
    expect(taken.length).toBe(9)
    expect(quality.mayReport(at(75_000))).toBe(true)
  })

  it('are divided by the height of the picture', () => {
    const quality = new SessionQuality()
    quality.report({ ...ONE, height: 1088 }, at(60_000))
    quality.report({ ...TWO, height: 90 }, at(120_000))
    // Nothing was played at this one.
    quality.report({ ...TWO, n: TWO.n + 1, height: 2160 }, at(121_000))
    const [hour] = qualityByHour(quality.toText()).values()
    expect(hour?.heights).toEqual(
      new Map([
        [1080, 50_000],
        [144, 50_000],
      ]),
    )
  })
})

describe('CMCD of one session', () => {
  const nothing = { isStarved: false, isUrgent: false, bufferMs: null, kbps: null }
  it('is counted by request, and its start ends with the first request that is not urgent', () => {
    const quality = new SessionQuality()
    quality.observe({ ...nothing, isUrgent: true }, at(100))
    quality.observe({ ...nothing, isUrgent: true, kbps: 4000 }, at(700))
    quality.observe({ ...nothing, bufferMs: 3000, kbps: 2000 }, at(1200))
    quality.observe({ ...nothing, isStarved: true, isUrgent: true, bufferMs: 0 }, at(9000))
    quality.observe({ ...nothing, bufferMs: 600 }, at(9900))
    expect(sumsOf(quality)).toMatchObject({
      players: 0,
      cmcdPlayers: 1,
      cmcdStarts: 1,
      cmcdStartMs: 1200,
      starved: 1,
      bufferMs: 3600,
      bufferReports: 3,
      kbps: 6000,
      kbpsReports: 2,
    })
  })

  it('of one viewer with thousands of requests weighed more than that of all others', () => {
    const quality = new SessionQuality()
    for (let times = 0; times < 5000; times++) quality.observe({ ...nothing, isStarved: true, kbps: 1 }, at(10_000))
    expect(sumsOf(quality)).toMatchObject({ cmcdPlayers: 1, starved: 300, kbps: 300, kbpsReports: 300 })
    quality.observe({ ...nothing, isStarved: true }, at(10_100))
    expect(sumsOf(quality).starved).toBe(301)
  })
})

it('shows a median and a 95th percentile within 2.5% of the true ones', () => {
  const all = noQuality()
  const times = Array.from({ length: 200 }, (_, index) => 150 + index * index)
  for (const start of times) {
    const quality = new SessionQuality()
    quality.report({ ...ONE, start }, at(60_000))
    for (const hour of qualityByHour(quality.toText()).values()) addQuality(all, hour)
  }
  for (const share of [0.5, 0.95]) {
    const exact = times[Math.ceil(share * times.length) - 1] ?? 0
    expect(Math.abs((startMsOf(all, share) ?? 0) / exact - 1)).toBeLessThan(0.025)
  }
  const average = times.reduce((sum, ms) => sum + ms, 0) / times.length / 1000
  expect(shownQuality(all).startSeconds).toBeCloseTo(average, 2)
  expect(shownQuality(noQuality())).toMatchObject({
    startSeconds: null,
    startSecondsMedian: null,
    droppedPercent: null,
  })
})

it('refuses a report with the field that is wrong', () => {
  const errorOf = (report: unknown) => {
    const read = readPlayerReport(typeof report === 'string' ? report : JSON.stringify(report))
    return read.ok ? null : read.error
  }
  expect(errorOf(TWO)).toBeNull()
  for (const none of ['', 'x', '[]', 'null', '7']) expect(errorOf(none)).toBe('the report must be a JSON object')
  expect(errorOf({ ...ONE, stalls: undefined })).toBe('stalls is missing')
  expect(errorOf({ ...ONE, stalls: -1 })).toBe('stalls must be a whole number from 0')
  expect(errorOf({ ...ONE, start: 1.5 })).toBe('start must be a whole number from 0')
  for (const absurd of ['1e300', '-1e300', '"7"', 'true', 'null', '[7]', '9007199254740993'])
    expect(errorOf(JSON.stringify(ONE).replace('"played":50000', `"played":${absurd}`))).toMatch(/^played (must|is)/)
  expect(errorOf({ ...ONE, n: 0 })).toBe('n must be at least 1')
  expect(errorOf({ ...ONE, failed: 'rain' })).toMatch(/^failed must be one of not_connected, /)
  expect(errorOf({ ...ONE, bytes: 7 })).toBe('"bytes" is not a field of a report')
})
