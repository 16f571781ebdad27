import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RtpReceiver } from '../../../src/media/relay/inbound/rtpReceiver.ts'
import { h264, H264_PAYLOADS } from '../../../src/media/codecs/h264.ts'
import { lengthPrefixed, packetizeNals } from '../../../src/media/codecs/nalUnits.ts'
import { vp8 } from '../../../src/media/codecs/vp8.ts'
import { Camera } from './parts.ts'

const START = 65_400
const RETRY_MS = 40

/** Neither the first of a keyframe. */
const payloadOf = (index: number): Buffer => Buffer.from([0x10, 1, index >> 8, index & 255])
const packet = (index: number) => ({ index, timestamp: index * 3600, marker: true, payload: payloadOf(index & 0xffff) })

/** A retransmission of `index` (RFC 4588). */
function repair(index: number, at = 0) {
  const sequence = Buffer.from([(index >> 8) & 255, index & 255])
  return { ...packet(index), index: at, payload: Buffer.concat([sequence, payloadOf(index & 0xffff)]) }
}

function receiver() {
  const camera = new Camera('a')
  const passed: number[] = []
  camera.track.listen(({ index, payload }) => {
    expect(payload).toEqual(payloadOf(index & 0xffff))
    passed.push(index)
  })
  return { camera, passed, inbound: new RtpReceiver(1, camera.track, vp8) }
}

describe('what comes from a publisher', () => {
  it('is asked for exactly where it is missing, over the wrap of its numbers', () => {
    const lossy = fc.array(fc.boolean(), { minLength: 1, maxLength: 190, size: 'max' })
    fc.assert(
      fc.property(lossy, (arrives) => {
        const { inbound } = receiver()
        inbound.take(packet(START), 0)
        for (const [at, isThere] of arrives.entries()) if (isThere) inbound.take(packet(START + 1 + at), 1)
        const last = arrives.lastIndexOf(true)
        const missing = arrives.flatMap((isThere, at) => (isThere || at > last ? [] : [(START + 1 + at) & 0xffff]))
        expect(inbound.missing(1000)).toEqual(missing)
      }),
      { numRuns: 200 },
    )
  })

  it('is whole again when all that was asked for is sent once more, late, in any order and twice', () => {
    const shuffled = fc.uniqueArray(fc.integer({ min: 1, max: 150 }), { minLength: 1 })
    fc.assert(
      fc.property(shuffled, (lost) => {
        const { inbound, passed } = receiver()
        for (let index = START; index <= START + 151; index++) {
          if (!lost.includes(index - START)) inbound.take(packet(index), 1)
        }
        expect(inbound.missing(100)).toHaveLength(lost.length)
        for (const step of [...lost, ...lost]) inbound.takeRetransmission(repair(START + step), 120)
        expect(passed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 152 }, (_, at) => START + at))
        expect(inbound.missing(1000)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  it('is asked for a bounded number of times, and then for a keyframe', () => {
    const { inbound, camera } = receiver()
    inbound.take(packet(START), 0)
    inbound.take(packet(START + 2), 0)
    let asked = 0
    for (let nowMs = 1000; nowMs < 3000; nowMs += 20) asked += inbound.missing(nowMs).length
    expect(asked).toBe(8)
    expect(camera.asked).toBeGreaterThan(0)
  })

  it('is given up 600 ms after it was asked for first, with one keyframe in its place', () => {
    const { inbound, camera } = receiver()
    inbound.take(packet(START), 0)
    inbound.take(packet(START + 2), 1000)
    for (let at = 0; at < 8; at++) expect(inbound.missing(1000 + at * RETRY_MS)).toHaveLength(1)
    expect([inbound.missing(1599), camera.asked]).toEqual([[], 0])
    expect([inbound.missing(1600), camera.asked]).toEqual([[], 1])
    for (const nowMs of [3000, 6000]) inbound.missing(nowMs)
    expect(camera.asked).toBe(1)
  })

  it.each([
    [10, 20],
    [100, 125],
    [160, 200],
    [600, 250],
  ])(
    'is asked for again after a quarter more than the %i ms that an answer takes, within bounds: %i ms',
    (delayMs, retryMs) => {
      const { inbound } = receiver()
      inbound.take(packet(START), 0)
      inbound.take(packet(START + 2), 1000)
      inbound.missing(1000)
      inbound.takeRetransmission(repair(START + 1), 1000 + delayMs)
      inbound.take(packet(START + 4), 2000)
      expect([2000, 2000 + retryMs - 1, 2000 + retryMs].map((nowMs) => inbound.missing(nowMs).length)).toEqual([
        1, 0, 1,
      ])
    },
  )

  it('says nothing of the delay when it comes without being asked for', () => {
    const { inbound } = receiver()
    inbound.take(packet(START), 0)
    inbound.take(packet(START + 2), 1000)
    inbound.takeRetransmission(repair(START + 1), 1000)
    inbound.take(packet(START + 4), 2000)
    expect([2000, 2000 + RETRY_MS].map((nowMs) => inbound.missing(nowMs).length)).toEqual([1, 1])
  })

  it('is asked for where it is audio on a link', () => {
    const inbound = new RtpReceiver(1, new Camera('a').track, null, 'link')
    for (const index of [0, 3]) inbound.take(packet(index), 0)
    expect(inbound.missing(1000)).toEqual([1, 2])
  })

  it('is asked for twice on a link before an answer can come, then as often as from a publisher', () => {
    const inbound = new RtpReceiver(1, new Camera('a').track, null, 'link')
    for (const index of [0, 2]) inbound.take(packet(index), 0)
    const times = Array.from({ length: 200 }, (_, at) => 1000 + at).filter((nowMs) => inbound.missing(nowMs).length > 0)
    expect(times).toEqual([1000, 1020, 1040, 1080, 1120, 1160])
  })

  it('is known on a link before another packet comes, the first ones too', () => {
    const inbound = new RtpReceiver(1, new Camera('a').track, null, 'link')
    inbound.take(packet(2), 0)
    expect(inbound.missing(1000)).toEqual([0, 1])
    inbound.sentUpTo(4, 1000)
    inbound.sentUpTo(3, 1000)
    expect(inbound.missing(1002)).toEqual([3, 4])
    inbound.take(packet(4), 1003)
    inbound.take(packet(5), 1004)
    expect(inbound.missing(2000)).toEqual([0, 1, 3])
  })

  it('is not asked for where it is audio', () => {
    const { camera } = receiver()
    const inbound = new RtpReceiver(1, camera.track, null)
    for (const index of [0, 3, 1000]) inbound.take(packet(index), 0)
    expect([inbound.missing(1000), camera.asked]).toEqual([[], 0])
  })

  it('is not asked for again before it can have come', () => {
    const { inbound } = receiver()
    inbound.take(packet(START), 0)
    inbound.take(packet(START + 2), 1000)
    expect(inbound.missing(1000)).toHaveLength(1)
    expect(inbound.missing(1000 + RETRY_MS - 1)).toHaveLength(0)
    expect(inbound.missing(1000 + RETRY_MS)).toHaveLength(1)
  })

  it('comes whole from a publisher far away too, and is soon not asked for more often than it can come', () => {
    const { inbound, passed, camera } = receiver()
    const [farMs, lost] = [440, 16]
    const answers: { atMs: number; missed: number }[] = []
    inbound.take(packet(START), 0)
    for (let [nowMs, index] = [1000, START]; nowMs <= 10_000; nowMs += 20) {
      index += nowMs % 500 === 0 && nowMs < 9000 ? 2 : 1
      inbound.take(packet(index), nowMs)
      for (const missed of inbound.missing(nowMs)) answers.push({ atMs: nowMs + farMs, missed })
      for (const { atMs, missed } of answers) if (atMs === nowMs) inbound.takeRetransmission(repair(missed), nowMs)
    }
    expect(new Set(passed).size).toBe((passed.at(-1) ?? 0) - (passed[0] ?? 0) + 1)
    expect(camera.asked).toBe(0)
    expect(answers.length).toBeLessThan(8 + lost * 2)
  })

  it('is not asked for piece by piece when too much is missing: a keyframe is', () => {
    const { inbound, camera } = receiver()
    inbound.take(packet(START), 0)
    inbound.take(packet(START + 2), 0)
    inbound.take(packet(START + 1000), 1000)
    expect(inbound.missing(1000)).toEqual([])
    expect(camera.asked).toBe(1)
  })

  it('never has more than a bounded number of packets asked for, however much is lost', () => {
    const { inbound } = receiver()
    for (let index = START; index < START + 3000; index += 2) inbound.take(packet(index), 0)
    expect(inbound.missing(1000)).toHaveLength(400)
  })

  it('is asked for once in two milliseconds, all that is missing together', () => {
    const { inbound } = receiver()
    const asked: unknown[] = []
    for (let [at, index] = [0, START]; at < 20; at++, index += 2) {
      inbound.take(packet(index), 1000 + at / 2)
      const missing = inbound.missing(1000 + at / 2)
      if (missing.length > 0) asked.push(missing.length)
    }
    expect(asked).toEqual([1, 4, 4, 4, 4])
  })

  it.each([2, 20, 201])(
    'is not asked for when a flood counts by %i, which would cost far more than its packets',
    (step) => {
      const { inbound, camera } = receiver()
      let asked = 0
      for (let [at, index] = [0, START]; at < 2200; at++, index += step) {
        inbound.take(packet(index), 1000 + at / 10)
        asked += inbound.missing(1000 + at / 10).length
      }
      // Each is asked for several times meanwhile.
      expect(asked).toBeLessThan(2000 * 8)
      expect(inbound.missing(2500)).toEqual([])
      expect(camera.asked).toBeGreaterThan(0)
      inbound.take(packet(START + 2199 * step + 3), 3000)
      expect(inbound.missing(3000)).not.toEqual([])
    },
  )

  it('is not looked through for a keyframe where one packet has hundreds of units, and Sluice sends none of these', () => {
    const packetOf = (units: number) => Buffer.from(`18${'000109'.repeat(units - 1)}000167`, 'hex')
    expect([64, 65].map((units) => h264.isKeyStart(packetOf(units)))).toEqual([true, false])
    const nals = Array.from({ length: 300 }, (_, at) => Buffer.from([0x41, at & 255]))
    expect(h264.join(packetizeNals(nals, 1180, H264_PAYLOADS))?.data).toEqual(lengthPrefixed(nals))
  })

  it('is taken from a retransmission only where it was missing', () => {
    const { inbound, passed } = receiver()
    inbound.takeRetransmission(repair(START), 0)
    inbound.take(packet(START), 0)
    inbound.takeRetransmission(repair(START), 1)
    inbound.takeRetransmission(repair(START + 5), 1)
    inbound.takeRetransmission({ ...packet(1), payload: Buffer.alloc(1) }, 1)
    expect(passed).toEqual([START])
  })

  it('is reported with what was lost of it (RFC 3550 section 6.4.1)', () => {
    const { inbound } = receiver()
    for (let index = START; index < START + 100; index++) if (index % 4 !== 3) inbound.take(packet(index), index * 40)
    const { packetsLost, fractionLost, highestSequence } = inbound.report(0)
    // START is a multiple of 4, so that the last of the hundred is among the lost.
    expect({ packetsLost, fractionLost, highestSequence }).toEqual({
      packetsLost: 24,
      fractionLost: Math.floor((24 * 256) / 99),
      highestSequence: START + 98,
    })
  })

  it('is reported and asked for from its very first packet on, also when that has the number 0', () => {
    const { inbound } = receiver()
    inbound.take(packet(0), 0)
    expect(inbound.report(0)).toMatchObject({ packetsLost: 0, fractionLost: 0, highestSequence: 0 })
    inbound.take(packet(3), 0)
    expect(inbound.missing(1000)).toEqual([1, 2])
    expect(inbound.report(0)).toMatchObject({
      packetsLost: 2,
      fractionLost: Math.floor((2 * 256) / 3),
      highestSequence: 3,
    })
    inbound.take(packet(5), 0)
    expect(inbound.report(0)).toMatchObject({ packetsLost: 3, fractionLost: 128 })
    // The field has 32 bits.
    inbound.take(packet(2 ** 32 + 7), 0)
    expect(inbound.report(0).highestSequence).toBe(7)
  })

  it('is reported with its jitter, a sixteenth of each change of transit time (RFC 3550 appendix A.8)', () => {
    const { inbound } = receiver()
    const ticksPerMs = 90
    const jitters = [0, 50, 80, 120, 160].map((arrivedMs, at) => {
      inbound.take(packet(START + at), arrivedMs)
      return inbound.report(arrivedMs).jitter
    })
    // A packet each 40 ms. The second is 10 ms late, the third on time again.
    const change = 10 * ticksPerMs
    const second = change / 16
    const third = second + (change - second) / 16
    const fourth = third - third / 16
    const fifth = fourth - fourth / 16
    expect(jitters).toEqual([0, second, third, fourth, fifth].map(Math.floor))
  })

  it('is reported with the last sender report and the time since then (RFC 3550 section 6.4.1)', () => {
    const { inbound } = receiver()
    inbound.take(packet(START), 0)
    expect(inbound.report(500)).toMatchObject({ lastReport: 0, delaySinceLastReport: 0 })
    inbound.reported(0x1234_5678, 1000)
    expect(inbound.report(1500)).toMatchObject({ lastReport: 0x1234_5678, delaySinceLastReport: 65_536 / 2 })
  })
})
