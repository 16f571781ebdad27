import { describe, expect, it } from 'vitest'
import { type CarriedLayer, LinkCapacity } from '../../../src/media/relay/link/linkCapacity.ts'
import { middleOf, ntpOf } from '../../../src/media/relay/wire/ntp.ts'

const [LARGE, SMALL, TINY] = [2_500_000, 500_000, 100_000]
const START_MS = 1_750_000_000_000
const ONLY_SMALL = [false, true]
const BOTH = [true, true]

/** A link on which the child reports four times a second, and wants the largest layer that it carries. */
function link(bitrates: readonly number[] = [LARGE, SMALL]) {
  const capacity = new LinkCapacity()
  let [nowMs, highest, lost] = [START_MS, 0, 0]
  let carried = bitrates.map(() => true)
  const layers = (): CarriedLayer[] =>
    bitrates.map((bitrate, at) => {
      const isWanted = at === carried.indexOf(true)
      return { bitrate, isWanted, isSent: isWanted }
    })
  const padding: number[] = []
  /** Seconds with this loss and this round trip. Returns what is carried after each. */
  const pass = (seconds: number, { loss = 0, roundTripMs = 1 } = {}): (readonly boolean[])[] =>
    Array.from({ length: seconds }, () => {
      for (let at = 1; at <= 50; at++) {
        nowMs += 20
        padding.push(capacity.probe(layers(), nowMs))
        if (at % 12 !== 0) continue
        highest += 75
        lost += 75 * loss
        const left = { lastReport: middleOf(ntpOf(nowMs - roundTripMs)), delaySinceLastReport: 0 }
        const packetsLost = Math.round(lost)
        const report = { ssrc: 1, fractionLost: 0, packetsLost, highestSequence: highest, jitter: 0, ...left }
        capacity.reported(report, layers(), nowMs)
      }
      carried = capacity.carries(layers())
      return carried
    })
  return { pass, padding }
}

describe('a link', () => {
  it('carries all layers at a loss of a tenth, and whatever its round trip is', () => {
    const { pass } = link()
    for (const each of pass(60, { loss: 0.1, roundTripMs: 250 })) expect(each).toEqual(BOTH)
  })

  it('drops the largest layer when more than a fifth is lost, and never the smallest', () => {
    const { pass } = link()
    pass(3)
    expect(pass(4, { loss: 0.25 }).at(-1)).toEqual(ONLY_SMALL)
    for (const each of pass(60, { loss: 0.25 })) expect(each[1]).toBe(true)
  })

  it('drops it when its round trip stays longer, but not for one late report', () => {
    const { pass } = link()
    pass(3)
    expect(pass(1, { roundTripMs: 400 })).toEqual([BOTH])
    expect(pass(10).at(-1)).toEqual(BOTH)
    expect(pass(4, { roundTripMs: 400 }).at(-1)).toEqual(ONLY_SMALL)
  })

  it('drops it when its round trip grows slowly', () => {
    const { pass } = link()
    pass(3)
    const story = Array.from({ length: 15 }, (_, at) => pass(1, { roundTripMs: 20 * at }).at(-1))
    expect([story[4], story.at(-1)]).toEqual([BOTH, ONLY_SMALL])
  })

  it('drops nothing for a pause of the network, although a third of a second is lost', () => {
    const { pass } = link()
    pass(3)
    expect(pass(1, { loss: 0.33 })).toEqual([BOTH])
    for (const each of pass(10)) expect(each).toEqual(BOTH)
  })

  it('does not carry it again as long as more than a fifth is lost', () => {
    const { pass } = link()
    pass(3)
    pass(4, { loss: 0.25 })
    for (const each of pass(60, { loss: 0.25 })) expect(each).toEqual(ONLY_SMALL)
  })

  it('carries it again after a probe without loss', () => {
    const { pass } = link()
    pass(3)
    pass(4, { loss: 0.25 })
    expect(pass(15).at(-1)).toEqual(BOTH)
  })

  it('is probed by padding that grows: all of it at once would fill the queue of a narrow one', () => {
    const { pass, padding } = link()
    pass(3)
    pass(4, { loss: 0.25 })
    pass(15)
    const probe = padding.filter((bits) => bits > 0)
    const most = 1.35 * (LARGE + SMALL) - SMALL
    expect(probe.slice(0, 124)).toEqual(
      Array.from({ length: 124 }, (_, at) => expect.closeTo(((at + 1) * most) / 125) as number),
    )
    expect(probe.slice(124)).toEqual(Array.from({ length: probe.length - 124 }, () => expect.closeTo(most) as number))
    expect(probe.length).toBeLessThanOrEqual(150)
  })

  it.each([{ loss: 0.6 }, { roundTripMs: 400 }])('loses no other layer by what a probe causes: %j', (caused) => {
    const { pass, padding } = link([LARGE, SMALL, TINY])
    pass(3)
    pass(4, { loss: 0.25 })
    for (let times = 0; times < 30; times++) {
      const isProbed = (padding.at(-1) ?? 0) > 0
      for (const each of isProbed ? pass(2, caused) : pass(1)) expect(each).toEqual([false, true, true])
    }
  })

  it('takes a longer way for no queue after some time', () => {
    const { pass } = link()
    pass(3)
    pass(20, { roundTripMs: 180 })
    expect(pass(30, { roundTripMs: 180 }).at(-1)).toEqual(BOTH)
  })
})
