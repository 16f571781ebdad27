import { describe, expect, it } from 'vitest'
import { BandwidthEstimator, ProbePadding } from '../../../src/media/relay/outbound/bandwidthEstimator.ts'
import { LossWindow } from '../../../src/media/relay/outbound/lossWindow.ts'
import { ResendBudget } from '../../../src/media/relay/outbound/resendBudget.ts'
import type { ReportBlock } from '../../../src/media/relay/wire/rtcp/rtcp.ts'

/** Of the current layer, and of the next one: a probe for it sends 405 in all, 305 of them padding. */
const LOAD = { sent: 100, next: 300 }
const WANTED = 405

describe('the estimate of a viewer', () => {
  it.each<[string, readonly (readonly [remb: number, sent: number, atMs: number])[], number]>([
    ['is what fits already, and some more', [[150, 100, 0]], 150],
    ['is at least what is sent without congestion', [[60, 100, 0]], 110],
    ['is the first one, if it is half of what is sent', [[50, 100, 0]], 110],
    ['drops to the first one, if it is less than half', [[49, 100, 0]], 49],
    [
      'drops with one that falls far',
      [
        [200, 100, 0],
        [49, 100, 100],
      ],
      49,
    ],
    [
      'does not drop with one that falls not far enough',
      [
        [200, 100, 0],
        [50, 100, 100],
      ],
      200,
    ],
    [
      'does not drop with noise',
      [
        [50, 100, 0],
        [49, 100, 100],
      ],
      110,
    ],
    [
      'does not drop with a little more noise',
      [
        [50, 100, 0],
        [48.5, 100, 100],
      ],
      110,
    ],
    [
      'drops with what is no noise',
      [
        [50, 100, 0],
        [48.4, 100, 100],
      ],
      48.4,
    ],
    [
      'does not drop with one that stalls for two seconds',
      [
        [89, 100, 0],
        [89, 100, 2000],
      ],
      110,
    ],
    [
      'drops with one that stalls for longer',
      [
        [89, 100, 0],
        [89, 100, 2001],
      ],
      89,
    ],
    [
      'does not drop with one that stalls where it is enough',
      [
        [90, 100, 0],
        [90, 100, 9000],
      ],
      110,
    ],
    [
      'does not drop with one that grew meanwhile',
      [
        [88, 100, 0],
        [89, 100, 1000],
        [89, 100, 3000],
      ],
      110,
    ],
    [
      'stays until another is larger than at the congestion',
      [
        [40, 100, 0],
        [40, 10, 100],
      ],
      40,
    ],
    [
      'grows with one that is larger than at the congestion',
      [
        [40, 100, 0],
        [41, 10, 100],
      ],
      41,
    ],
    [
      'does not trust what is sent for three seconds after congestion',
      [
        [40, 100, 0],
        [40, 50, 3000],
      ],
      40,
    ],
    [
      'trusts what is sent after that',
      [
        [40, 100, 0],
        [40, 42, 3001],
      ],
      42 * 1.1,
    ],
    [
      'never falls without congestion',
      [
        [300, 100, 0],
        [200, 100, 100],
      ],
      300,
    ],
  ])('%s', (_, rembs, expected) => {
    const estimator = new BandwidthEstimator()
    expect(estimator.bitrate).toBeNull()
    for (const [remb, sent, atMs] of rembs) estimator.onRemb(remb, { sent, next: null }, atMs)
    expect(estimator.bitrate).toBeCloseTo(expected, 9)
  })

  it.each<[string, readonly number[], number | null]>([
    ['heavy once', [0.3], null],
    ['heavy, and not any more', [0.3, 0.2], null],
    ['heavy after some', [0.2, 0.3], null],
    ['heavy twice', [0.21, 0.25], 75],
    ['heavier than half', [0.3, 0.8], 50],
  ])('drops with loss that is %s', (_, shares, expected) => {
    const estimator = new BandwidthEstimator()
    for (const [at, share] of shares.entries()) estimator.onLoss(share, LOAD, at * 500)
    expect(estimator.bitrate).toBe(expected)
  })

  it('does not drop again with loss until the first drop has had its time', () => {
    const estimator = new BandwidthEstimator()
    for (const atMs of [0, 500]) estimator.onLoss(0.3, LOAD, atMs)
    for (const atMs of [1000, 3500]) estimator.onLoss(0.5, LOAD, atMs)
    expect(estimator.bitrate).toBe(70)
    estimator.onLoss(0.5, LOAD, 3501)
    expect(estimator.bitrate).toBe(50)
  })
})

it('padding of a probe was a packet each 20 ms at least, several times what a small layer needs', () => {
  const padding = new ProbePadding()
  const pad = (octets: number): number => 1200 * Math.ceil(octets / 1200)
  const sentAt = (bitrate: number, fromMs: number): number => {
    let sent = 0
    for (let nowMs = fromMs; nowMs < fromMs + 3000; nowMs += 20)
      padding.send(bitrate, nowMs, (octets) => {
        sent += pad(octets)
        return pad(octets)
      })
    return sent
  }
  for (const [at, bitrate] of [100_000, 10_000, 5_000_000].entries()) {
    expect(Math.abs(sentAt(bitrate, 10_000 * at) - (3 * bitrate) / 8)).toBeLessThan(3 * 1200 + (60 * bitrate) / 8000)
    expect(sentAt(0, 10_000 * at + 5000)).toBe(0)
  }
})

describe('a probe for the next layer', () => {
  /** One that began at 0, with an estimate of 150. */
  const begun = ({ rttMs = null as number | null } = {}) => {
    const estimator = new BandwidthEstimator()
    if (rttMs !== null) estimator.onRtt(rttMs, -500, -400)
    estimator.onRemb(150, LOAD, 0)
    expect(estimator.probe(LOAD, 0)).toBe(305)
    return estimator
  }
  const padding = (estimator: BandwidthEstimator, ...timesMs: number[]) =>
    timesMs.map((atMs) => estimator.probe(LOAD, atMs))

  it('needs an estimate, a larger layer, and one that does not fit anyway', () => {
    expect(new BandwidthEstimator().probe(LOAD, 0)).toBe(0)
    const estimator = new BandwidthEstimator()
    estimator.onRemb(150, LOAD, 0)
    expect(estimator.probe({ sent: 100, next: null }, 0)).toBe(0)
    expect(estimator.probe({ sent: 100, next: 110 }, 0)).toBe(0)
    expect(estimator.probe({ sent: 500, next: 600 }, 0)).toBeCloseTo(310, 9)
    const enough = new BandwidthEstimator()
    enough.onRemb(WANTED, LOAD, 0)
    expect(enough.probe(LOAD, 0)).toBe(0)
  })

  it('is given up after a second and a half when nothing moves, and comes again after eight seconds', () => {
    const estimator = begun()
    expect(padding(estimator, 1499, 1500, 9499, 9500)).toEqual([305, 0, 0, 305])
    expect(estimator.bitrate).toBe(150)
  })

  it('succeeded where the receiver says that it can receive nothing', () => {
    const estimator = new BandwidthEstimator()
    estimator.onRemb(0, LOAD, 0)
    expect([padding(estimator, 4001, 5500, 5501), estimator.bitrate]).toEqual([
      [305, 305, 0],
      expect.closeTo(110) as number,
    ])
  })

  it('comes half as often after each that fails, and once a minute at least', () => {
    const estimator = begun()
    const begins: number[] = []
    let isOn = true
    for (let atMs = 100; atMs < 300_000; atMs += 100) {
      const wasOn = isOn
      isOn = estimator.probe(LOAD, atMs) > 0
      if (isOn && !wasOn) begins.push(atMs)
    }
    expect(begins.map((atMs, at) => atMs - (begins[at - 1] ?? 0) - 1500)).toEqual([
      8000, 16_000, 32_000, 64_000, 64_000, 64_000,
    ])
  })

  it('succeeds after three seconds when the estimate has grown by two percent, and fails with less', () => {
    for (const [remb, bitrate] of [
      [153, WANTED],
      [152.9, 152.9],
    ] as const) {
      const estimator = begun()
      estimator.onRemb(remb, LOAD, 1000)
      expect(padding(estimator, 1500, 2999)).toEqual([305, 305])
      expect([estimator.probe(LOAD, 3000), estimator.bitrate]).toEqual([0, bitrate])
    }
  })

  it('fails when the estimate falls, and not with noise', () => {
    const [falls, noisy] = [begun(), begun()]
    falls.onRemb(145, LOAD, 100)
    noisy.onRemb(145.5, LOAD, 100)
    expect([falls.probe(LOAD, 200), noisy.probe(LOAD, 200)]).toEqual([0, 305])
    expect(padding(falls, 8099, 8100)).toEqual([0, 305])
  })

  it('fails with more loss than before it', () => {
    const [lossy, less] = [begun(), begun()]
    lossy.onLoss(0.11, LOAD, 100)
    less.onLoss(0.1, LOAD, 100)
    expect([lossy.probe(LOAD, 200), less.probe(LOAD, 200)]).toEqual([0, 305])
  })

  it('succeeds without a larger estimate when the round trip stays as it was', () => {
    const estimator = begun({ rttMs: 50 })
    // One that left in the first second says nothing yet.
    estimator.onRtt(150, 999, 1200)
    expect(padding(estimator, 1500, 2999)).toEqual([305, 305])
    const unclear = begun({ rttMs: 50 })
    unclear.onRtt(150, 999, 1200)
    expect([unclear.probe(LOAD, 3000), unclear.bitrate]).toEqual([0, 150])
    estimator.onRtt(150, 1000, 1200)
    expect([estimator.probe(LOAD, 3000), estimator.bitrate]).toEqual([0, WANTED])
  })

  it('fails with a longer round trip, unless its report left before the probe', () => {
    const estimator = begun({ rttMs: 50 })
    estimator.onRtt(151, -1, 100)
    expect(estimator.probe(LOAD, 200)).toBe(305)
    estimator.onRtt(151, 0, 100)
    expect(estimator.probe(LOAD, 200)).toBe(0)
    const unknown = begun()
    unknown.onRtt(900, 1000, 1200)
    expect(unknown.probe(LOAD, 1499)).toBe(305)
  })

  it('is decided by loss alone without an estimate of the viewer', () => {
    const estimator = new BandwidthEstimator()
    for (const atMs of [0, 500]) estimator.onLoss(0.3, LOAD, atMs)
    estimator.onLoss(0, LOAD, 1000)
    expect(padding(estimator, 3500, 4499, 4500)).toEqual([0, 0, 305])
    expect(padding(estimator, 7499, 7500)).toEqual([305, 0])
    expect(estimator.bitrate).toBe(WANTED)
  })

  it('was wrong if congestion follows within fifteen seconds, and a later one begins with the shortest wait again', () => {
    const nextProbeAfter = (congestedMs: number): number => {
      const estimator = begun()
      estimator.onRemb(160, LOAD, 1000)
      estimator.probe(LOAD, 3000)
      expect(estimator.bitrate).toBe(WANTED)
      estimator.onRemb(10, LOAD, 3000 + congestedMs)
      for (let ms = 0; ms < 100_000; ms += 1) if (estimator.probe(LOAD, 3000 + congestedMs + ms) > 0) return ms
      return Number.NaN
    }
    expect([nextProbeAfter(14_999), nextProbeAfter(15_000)]).toEqual([8000, 4000])
  })

  it('fails with congestion while it runs', () => {
    const estimator = begun()
    for (const atMs of [100, 600]) estimator.onLoss(0.09, LOAD, atMs)
    estimator.onRemb(49, LOAD, 700)
    expect([estimator.bitrate, ...padding(estimator, 8699, 8700)]).toEqual([49, 0, 305])
  })
})

describe('the loss of a viewer', () => {
  const report = (ssrc: number, highestSequence: number, packetsLost: number): ReportBlock => ({
    ssrc,
    highestSequence,
    packetsLost,
    fractionLost: 0,
    jitter: 0,
    lastReport: 0,
    delaySinceLastReport: 0,
  })

  it('is known after half a second and twenty packets of all streams together', () => {
    const window = new LossWindow()
    const add = (ssrc: number, highest: number, lost: number, atMs: number) =>
      window.add(report(ssrc, highest, lost), atMs)
    expect([add(1, 100, 5, 0), add(2, 200, 0, 0), add(1, 110, 6, 499), add(2, 210, 1, 499)]).toEqual([
      null,
      null,
      null,
      null,
    ])
    expect(add(1, 110, 6, 500)).toBe(0.1)
    // Another window begins there.
    expect([add(1, 129, 6, 1000), add(1, 130, 6, 999), add(1, 130, 6, 1000)]).toEqual([null, null, 0])
  })

  it('is never less than none or more than all, whatever a viewer claims', () => {
    for (const [lost, share] of [
      [-50, 0],
      [50, 1],
    ] as const) {
      const window = new LossWindow()
      window.add(report(1, 0, 0), 0)
      expect(window.add(report(1, 40, lost), 500)).toBe(share)
    }
    const backwards = new LossWindow()
    backwards.add(report(1, 100, 0), 0)
    expect(backwards.add(report(1, 20, 10), 500)).toBeNull()
    expect(backwards.add(report(1, 60, 20), 600)).toBe(0.5)
    const wrapped = new LossWindow()
    wrapped.add(report(1, 0xfffffff0, 0), 0)
    expect(wrapped.add(report(1, 0x10, 8), 500)).toBe(0.25)
  })
})

describe('the budget for retransmissions', () => {
  it('begins with a keyframe, and half of the media that was sent is added', () => {
    const budget = new ResendBudget()
    budget.spend(23_999)
    expect(budget.isPlenty).toBe(true)
    budget.spend(1)
    expect(budget.isPlenty).toBe(false)
    budget.spend(23_999)
    expect(budget.isLeft).toBe(true)
    budget.spend(1)
    expect(budget.isLeft).toBe(false)
    budget.earn(2, 0)
    budget.spend(0.5)
    expect(budget.isLeft).toBe(true)
    budget.spend(0.5)
    expect(budget.isLeft).toBe(false)
    // The same bytes earn once.
    budget.earn(2, 100)
    expect(budget.isLeft).toBe(false)
  })

  it('keeps at most the media of one second', () => {
    const leftAfter = (bytesPerSecond: number) => {
      const budget = new ResendBudget()
      for (let ms = 0; ms <= 10_000; ms += 500) budget.earn((bytesPerSecond * ms) / 1000, ms)
      let left = 0
      for (; budget.isLeft; left += 1000) budget.spend(1000)
      return left
    }
    expect([leftAfter(10_000), leftAfter(48_000), leftAfter(200_000)]).toEqual([48_000, 48_000, 200_000])
  })
})
