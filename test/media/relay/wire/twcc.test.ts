import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TransportFeedback } from '../../../../src/media/relay/wire/twcc.ts'
import { fatesOf, transportFeedbackIn } from '../../../support/transportFeedback.ts'

const read = (messages: readonly Buffer[]) => transportFeedbackIn(Buffer.concat(messages)).flatMap(fatesOf)
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
    const steps = fc.array(fc.tuple(fc.constantFrom(1, 1, 1, 1, 2, 3, 20, 100), fc.nat(400_000)), {
      minLength: 1,
      maxLength: 600,
      size: 'medium',
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

  it('ended the process when a sender left out more numbers than one message can count', () => {
    const feedback = new TransportFeedback()
    for (let at = 0; at < 80; at++) feedback.arrived((at * 1000) & 0xffff, at)
    const arrived = read(feedback.build(1, 2)).filter(({ arrivalUs }) => arrivalUs !== null)
    expect(arrived.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 80 }, (_, at) => (at * 1000) & 0xffff))
  })

  it.each([1000, 1002, 30_000])('cost a thousand times its packets when a sender counted by %i', (step) => {
    const feedback = new TransportFeedback()
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < 4096; at++) feedback.arrived((at * step) & 0xffff, at)
      const messages = feedback.build(1, 2)
      expect(messages.length).toBeLessThanOrEqual(64)
      expect(read(messages).length).toBeLessThanOrEqual(0xffff + 4096)
    }
    // What the sender leaves out is reported again as soon as it stops that.
    for (const sequence of [10, 13]) feedback.arrived(sequence, 0)
    expect(
      read(feedback.build(1, 2))
        .slice(-4)
        .map(({ arrivalUs }) => arrivalUs),
    ).toEqual([0, null, null, 0])
  })

  const messageOf = (arrivals: readonly (readonly [sequence: number, us: number])[]) => {
    const feedback = new TransportFeedback()
    for (const [sequence, us] of arrivals) feedback.arrived(sequence, us)
    return feedback.build(1, 2).map((message) => message.toString('hex'))
  }
  const HEAD = '0000000100000002'

  it.each<[string, readonly (readonly [number, number])[], string]>([
    ['one packet', [[7, 0]], `afcd0005${HEAD}0007000100000000a0000001`],
    ['a tick that is rounded', [[7, 375]], `afcd0005${HEAD}0007000100000000a0000201`],
    ['a reference time of 24 bits', [[7, 2 ** 24 * 64_000 + 64_000]], `afcd0005${HEAD}0007000100000100a0000001`],
    [
      'a delta of one byte',
      [
        [0, 0],
        [1, 255 * 250],
      ],
      `8fcd0005${HEAD}0000000200000000b00000ff`,
    ],
    [
      'a delta of two bytes',
      [
        [0, 0],
        [1, 256 * 250],
      ],
      `afcd0006${HEAD}0000000200000000d800000100000003`,
    ],
    [
      'a delta back in time',
      [
        [1, 0],
        [0, 250],
      ],
      `afcd0006${HEAD}0000000200000000d80001ffff000003`,
    ],
    [
      'long deltas alone and in a run',
      Array.from({ length: 15 }, (_, n) => [n, n * 70_000] as const),
      `afcd000d${HEAD}0000000f00000000daaa400800${'0118'.repeat(14)}000003`,
    ],
    [
      'fourteen in a run',
      Array.from({ length: 14 }, (_, n) => [n, 0] as const),
      `8fcd0008${HEAD}0000000e00000000200e${'00'.repeat(14)}`,
    ],
    [
      'thirteen in a bit each',
      Array.from({ length: 13 }, (_, n) => [n, 0] as const),
      `afcd0008${HEAD}0000000d00000000bffe${'00'.repeat(13)}01`,
    ],
  ])('of %s is laid out as the draft says', (_, arrivals, hex) => {
    expect(messageOf(arrivals)).toEqual([hex])
  })

  it('begins another message when one is full, or its packets lie too far apart', () => {
    const lengths = (arrivals: readonly (readonly [number, number])[]) => {
      const feedback = new TransportFeedback()
      for (const [sequence, us] of arrivals) feedback.arrived(sequence, us)
      return feedback.build(1, 2).map((message) => fatesOf(message).length)
    }
    const many = (count: number) => Array.from({ length: count }, (_, n) => [n, n * 250] as const)
    expect([lengths(many(190)), lengths(many(191))]).toEqual([[190], [190, 1]])
    const later = (us: number) =>
      [
        [0, 0],
        [1, us],
      ] as const
    expect([lengths(later(0x7fff * 250)), lengths(later(0x8000 * 250))]).toEqual([[2], [1, 1]])
    // So much is a restart of the sender.
    const ahead = (gap: number) =>
      [
        [0, 0],
        [1 + gap, 250],
      ] as const
    expect([lengths(ahead(1000)), lengths(ahead(1001))]).toEqual([[1002], [1, 1]])
  })

  it('reports what was lost between messages, unless the sender began again', () => {
    for (const [gap, count] of [
      [1, 2],
      [1000, 1001],
      [1001, 1],
    ] as const) {
      const feedback = new TransportFeedback()
      feedback.arrived(5, 0)
      feedback.build(1, 2)
      feedback.arrived(6 + gap, 250)
      expect(read(feedback.build(1, 2))).toHaveLength(count)
    }
  })

  it('takes the first time of a packet that comes twice, and counts messages up to 255', () => {
    expect(
      read([
        Buffer.from(
          messageOf([
            [3, 250],
            [3, 5000],
          ])[0] ?? '',
          'hex',
        ),
      ]),
    ).toEqual([{ sequence: 3, arrivalUs: 250 }])
    const feedback = new TransportFeedback()
    const numbers = Array.from({ length: 258 }, (_, n) => {
      feedback.arrived(n, n)
      expect(feedback.pending).toBe(1)
      return feedback.build(1, 2)[0]?.[19]
    })
    expect(numbers.slice(254)).toEqual([254, 255, 0, 1])
  })

  it.each<[string, string, unknown]>([
    [
      'a run',
      '0002 00000100 2002 0104',
      [
        [16, 64_250],
        [17, 65_250],
      ],
    ],
    ['a run that is longer than the count', '0001 00000000 2fff 01', [[16, 250]]],
    [
      'a run of lost ones',
      '0003 00000000 0003',
      [
        [16, null],
        [17, null],
        [18, null],
      ],
    ],
    [
      'one bit each',
      '0003 00000000 a800 0102',
      [
        [16, 250],
        [17, null],
        [18, 750],
      ],
    ],
    [
      'two bits each',
      '0003 00000100 d200 01 ffff',
      [
        [16, 64_250],
        [17, null],
        [18, 64_000],
      ],
    ],
    [
      'two chunks',
      '000f 00000000 8001 2001 01 02',
      expect.objectContaining({ length: 15, 13: [29, 250], 14: [30, 750] }),
    ],
    ['nothing in it', '0000 00000000', []],
  ])('with %s is read as what it is', (_, hex, expected) => {
    const fates = fatesOf(Buffer.from(`8fcd0000${HEAD}0010${hex}`.replaceAll(' ', ''), 'hex'))
    expect(fates.map(({ sequence, arrivalUs }) => [sequence, arrivalUs])).toEqual(expected)
  })
})
