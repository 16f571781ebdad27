import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRtcp } from '../../../../src/media/relay/wire/rtcp/rtcp.ts'
import { parseTransportFeedback, TransportFeedback } from '../../../../src/media/relay/wire/twcc.ts'

const read = (messages: readonly Buffer[]) =>
  messages.flatMap((message) => {
    const [packet] = parseRtcp(message) ?? []
    if (packet?.kind !== 'twcc') throw new Error('not feedback')
    return parseTransportFeedback(packet.feedback) ?? []
  })
const ticks = (us: number) => Math.round(us / 250) * 250

describe('transport-wide feedback', () => {
  it('is, byte for byte, what the draft lays out', () => {
    const feedback = new TransportFeedback()
    feedback.arrived(10, 64_000 * 5 + 1000)
    feedback.arrived(11, 64_000 * 5 + 2000)
    feedback.arrived(13, 64_000 * 5 + 90_000)
    // Base 10, 4 statuses, reference time 5, message 0; two-bit chunk 1,1,0,2; deltas 4, 4, 352; one byte of padding... none.
    expect(feedback.build(1, 2).map((message) => message.toString('hex'))).toEqual([
      'afcd00060000000100000002000a000400000500d480040401600002',
    ])
  })

  it('tells each packet once, at its time, and what is lost between them', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom(1, 1, 1, 1, 2, 3, 20, 400), fc.nat(400_000)), {
      minLength: 1,
      maxLength: 600,
    })
    fc.assert(
      fc.property(fc.nat(0xffff), fc.nat(10_000_000), steps, fc.nat(50), (start, startUs, moves, every) => {
        const feedback = new TransportFeedback()
        const messages: Buffer[] = []
        const sent = new Map<number, number>()
        let [sequence, now] = [start, startUs]
        for (const [index, [step, us]] of moves.entries()) {
          feedback.arrived(sequence & 0xffff, now)
          sent.set(sequence, ticks(now))
          if (every > 0 && index % every === 0) messages.push(...feedback.build(1, 2))
          sequence += step
          now += us
        }
        messages.push(...feedback.build(1, 2))
        const fates = read(messages)
        const [first, last] = [start, [...sent.keys()].at(-1) ?? 0]
        expect(fates.map((fate) => fate.sequence)).toEqual(
          Array.from({ length: last - first + 1 }, (_, index) => (first + index) & 0xffff),
        )
        for (const [index, { arrivalUs }] of fates.entries()) expect(arrivalUs).toBe(sent.get(first + index) ?? null)
        expect(messages.every(({ length }) => length < 1200)).toBe(true)
        expect(messages.map((message) => message[19])).toEqual(messages.map((_, index) => index & 255))
      }),
      { numRuns: 60 },
    )
  })

  it('reports packets out of order, and of one that came after it was called lost', () => {
    const feedback = new TransportFeedback()
    for (const [sequence, us] of [
      [65535, 1000],
      [1, 2000],
      [0, 3000],
    ] as const)
      feedback.arrived(sequence, us)
    expect(read(feedback.build(1, 2))).toEqual([
      { sequence: 65535, arrivalUs: 1000 },
      { sequence: 0, arrivalUs: 3000 },
      { sequence: 1, arrivalUs: 2000 },
    ])
    feedback.arrived(3, 4000)
    expect(read(feedback.build(1, 2))[0]).toEqual({ sequence: 2, arrivalUs: null })
    feedback.arrived(2, 5000)
    feedback.arrived(4, 6000)
    expect(read(feedback.build(1, 2))).toEqual([
      { sequence: 2, arrivalUs: 5000 },
      { sequence: 4, arrivalUs: 6000 },
    ])
  })

  it('says nothing when nothing came, and remembers no more than some thousands', () => {
    const feedback = new TransportFeedback()
    expect(feedback.build(1, 2)).toEqual([])
    for (let i = 0; i < 10_000; i++) feedback.arrived(i, i)
    expect(feedback.pending).toBe(4096)
    expect(read(feedback.build(1, 2))).toHaveLength(4096)
  })

  it.each([
    ['is cut', 'afcd000300000001000000020000'],
    ['has no chunk for its statuses', 'afcd000400000001000000020000000100000000'],
    ['uses the reserved status', 'afcd00050000000100000002000000010000000060010000'],
    ['has no delta for what arrived', 'afcd0005000000010000000200000004000000002004000'],
  ])('is refused when it %s', (_, hex) => expect(parseTransportFeedback(Buffer.from(hex, 'hex'))).toBeNull())
})
