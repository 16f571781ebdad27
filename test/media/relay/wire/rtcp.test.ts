import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as rtcp from '../../../../src/media/relay/wire/rtcp/rtcp.ts'

const u32 = fc.nat(0xffffffff)
const blocks = fc.array(
  fc.record({
    ssrc: u32,
    fractionLost: fc.nat(255),
    packetsLost: fc.integer({ min: -0x800000, max: 0x7fffff }),
    highestSequence: u32,
    jitter: u32,
    lastReport: u32,
    delaySinceLastReport: u32,
  }),
  { maxLength: 31, size: 'max' },
)
const senderReports = fc.record({
  ssrc: u32,
  ntpSeconds: u32,
  ntpFraction: u32,
  rtpTimestamp: u32,
  packetCount: u32,
  octetCount: u32,
})

describe('RTCP', () => {
  it('gives back a whole compound', () => {
    fc.assert(
      fc.property(
        senderReports,
        blocks,
        u32,
        fc.string({ maxLength: 40, size: 'max' }),
        (report, reports, ssrc, cname) => {
          const compound = Buffer.concat([
            rtcp.writeSenderReport(report, reports),
            rtcp.writeReceiverReport(ssrc, reports),
            rtcp.writeSdes(ssrc, cname),
            rtcp.writePli(ssrc, 7),
            rtcp.writeFir(ssrc, 9, 200),
            rtcp.writeBye([ssrc, 1]),
          ])
          expect(rtcp.parseRtcp(compound)).toEqual([
            { kind: 'sr', ...report, reports },
            { kind: 'rr', ssrc, reports },
            { kind: 'sdes', chunks: [{ ssrc, cname: Buffer.from(cname).toString() }] },
            { kind: 'pli', senderSsrc: ssrc, mediaSsrc: 7 },
            { kind: 'fir', senderSsrc: ssrc, requests: [{ ssrc: 9, sequence: 200 }] },
            { kind: 'bye', ssrcs: [ssrc, 1] },
          ])
        },
      ),
    )
  })

  it('asks for exactly the lost packets, around the wrap as well', () => {
    const lost = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(fc.nat(0xffff), lost, (start, steps) => {
        const sequences = steps.sort((a, b) => a - b).map((step) => (start + step) & 0xffff)
        expect(rtcp.parseRtcp(rtcp.writeNack(1, 2, sequences))).toEqual([
          { kind: 'nack', senderSsrc: 1, mediaSsrc: 2, sequences },
        ])
      }),
    )
    expect(rtcp.writeNack(1, 2, [65535, 0, 15]).length).toBe(16)
  })

  it('states a bitrate exactly up to 18 bits, and a little below above them', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.array(u32, { maxLength: 5 }), (bitrate, ssrcs) => {
        const [packet] = rtcp.parseRtcp(rtcp.writeRemb(1, bitrate, ssrcs)) ?? []
        expect(packet).toMatchObject({ kind: 'remb', senderSsrc: 1, ssrcs })
        if (packet?.kind !== 'remb') return
        expect(packet.bitrate).toBeLessThanOrEqual(bitrate)
        expect(packet.bitrate).toBeGreaterThan(bitrate * (1 - 2 ** -17) - 1)
      }),
    )
  })

  it.each([
    ['nothing', ''],
    ['a length beyond the end', '80c90002000000010000'],
    ['another version', '40c9000100000001'],
    ['reports that are not there', '81c9000100000001'],
    ['a sender report that is cut', '80c8000100000001'],
    ['goodbyes that are not there', '82cb000100000001'],
    ['more padding than packet', 'a0c90001000000ff'],
    ['an SDES item that leads out', '81ca00020000000101ff6161'],
    ['something good followed by something bad', '80c900010000000140c9000100000001'],
  ])('is refused with %s', (_, hex) => expect(rtcp.parseRtcp(Buffer.from(hex, 'hex'))).toBeNull())

  it('passes over what it does not know', () => {
    expect(rtcp.parseRtcp(Buffer.from('80cf000100000001', 'hex'))).toEqual([{ kind: 'other', packetType: 207 }])
    expect(rtcp.parseRtcp(Buffer.from('83ce00020000000100000002', 'hex'))).toEqual([{ kind: 'other', packetType: 206 }])
  })

  const read = (hex: string) => rtcp.parseRtcp(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

  it('is written as RFC 3550, 4585 and 5104 lay it out', () => {
    const report = { ssrc: 5, fractionLost: 6, packetsLost: -2, highestSequence: 0x10009, jitter: 10, lastReport: 11 }
    const block = '00000005 06fffffe 00010009 0000000a 0000000b 0000000c'
    const blocks = [{ ...report, delaySinceLastReport: 12 }]
    const sender = { ssrc: 1, ntpSeconds: 2, ntpFraction: 3, rtpTimestamp: 4, packetCount: 5, octetCount: 6 }
    const written = [
      rtcp.writeSenderReport(sender, blocks),
      rtcp.writeReceiverReport(0xffffffff, blocks),
      rtcp.writeSdes(1, 'abc'),
      rtcp.writeSdes(1, 'ab'),
      rtcp.writeBye([1, 2]),
      rtcp.writeNack(1, 2, [10, 11, 26, 27]),
      rtcp.writePli(1, 2),
      rtcp.writeFir(1, 2, 257),
      rtcp.writeRemb(1, 0x7fffe, [2]),
    ]
    expect(written.map((packet) => packet.toString('hex'))).toEqual(
      [
        `81c8000c 00000001 00000002 00000003 00000004 00000005 00000006 ${block}`,
        `81c90007 ffffffff ${block}`,
        '81ca0003 00000001 01036162 63000000',
        '81ca0003 00000001 01026162 00000000',
        '82cb0002 00000001 00000002',
        '81cd0004 00000001 00000002 000a8001 001b0000',
        '81ce0002 00000001 00000002',
        '84ce0004 00000001 00000000 00000002 01000000',
        '8fce0005 00000001 00000000 52454d42 0107ffff 00000002',
      ].map((hex) => hex.replaceAll(' ', '')),
    )
  })

  it('has no more in one packet than fits it, and no loss beyond 24 bits', () => {
    const sender = { ssrc: 1, ntpSeconds: 2, ntpFraction: 3, rtpTimestamp: 4, packetCount: 5, octetCount: 6 }
    const report = {
      ssrc: 5,
      fractionLost: 6,
      highestSequence: 9,
      jitter: 10,
      lastReport: 11,
      delaySinceLastReport: 12,
    }
    const lost = [-0x800001, -0x800000, 0x7fffff, 0x800000, ...Array.from({ length: 28 }, () => 0)]
    const reports = lost.map((packetsLost) => ({ ...report, packetsLost }))
    for (const packet of [rtcp.writeSenderReport(sender, reports), rtcp.writeReceiverReport(1, reports)]) {
      const [back] = rtcp.parseRtcp(packet) ?? []
      const found = back?.kind === 'sr' || back?.kind === 'rr' ? back.reports : []
      expect(found.map(({ packetsLost }) => packetsLost).slice(0, 4)).toEqual([
        -0x800000, -0x800000, 0x7fffff, 0x7fffff,
      ])
      expect(found).toHaveLength(31)
    }
    const many = Array.from({ length: 300 }, (_, index) => index)
    expect(rtcp.parseRtcp(rtcp.writeBye(many))).toEqual([{ kind: 'bye', ssrcs: many.slice(0, 31) }])
    expect(rtcp.parseRtcp(rtcp.writeRemb(1, 5, many))).toMatchObject([{ bitrate: 5, ssrcs: many.slice(0, 255) }])
    const [named] = rtcp.parseRtcp(rtcp.writeSdes(1, 'x'.repeat(300))) ?? []
    expect(named).toEqual({ kind: 'sdes', chunks: [{ ssrc: 1, cname: 'x'.repeat(255) }] })
  })

  it('names a bitrate from nothing to more than there is', () => {
    const back = (bitrate: number) => {
      const [packet] = rtcp.parseRtcp(rtcp.writeRemb(1, bitrate, [])) ?? []
      return packet?.kind === 'remb' ? packet.bitrate : null
    }
    expect([-5, 0, 0x3ffff, 0x40000, 0x40001, 2 ** 81 - 2 ** 63, Infinity].map(back)).toEqual([
      0,
      0,
      0x3ffff,
      0x40000,
      0x40000,
      2 ** 81 - 2 ** 63,
      2 ** 81 - 2 ** 63,
    ])
  })

  it('is read up to 64 packets in a compound, and 1000 numbers in a NACK', () => {
    const pli = rtcp.writePli(1, 2)
    expect(rtcp.parseRtcp(Buffer.concat(Array(64).fill(pli)))).toHaveLength(64)
    expect(rtcp.parseRtcp(Buffer.concat(Array(65).fill(pli)))).toBeNull()
    const all = Array.from({ length: 1100 }, (_, index) => index)
    for (const count of [999, 1000, 1001, 1100])
      expect(rtcp.parseRtcp(rtcp.writeNack(1, 2, all.slice(0, count)))).toMatchObject([
        { sequences: all.slice(0, Math.min(count, 1000)) },
      ])
  })

  it('asks once for a number that is named twice, and in the order of the list', () => {
    const sequences = (list: number[]) => {
      const [packet] = rtcp.parseRtcp(rtcp.writeNack(1, 2, list)) ?? []
      return packet?.kind === 'nack' ? packet.sequences : null
    }
    expect([sequences([5, 5, 6, 6]), sequences([6, 5]), sequences([5, 21, 22]), sequences([])]).toEqual([
      [5, 6],
      [6, 5],
      [5, 21, 22],
      [],
    ])
  })

  it.each<[string, string, unknown]>([
    ['padding', 'a0cf0002 00000001 00000004', [{ kind: 'other', packetType: 207 }]],
    ['nothing but padding', 'a0cf0001 00000004', [{ kind: 'other', packetType: 207 }]],
    ['padding in a report', 'a0c90002 00000001 00000004', [{ kind: 'rr', ssrc: 1, reports: [] }]],
    ['a report that its padding covers', 'a0c90001 00000004', null],
    ['padding of no bytes', 'a0cf0001 00000000', null],
    ['padding that covers the header', 'a0cf0001 00000005', null],
    ['half a header', '80c900', null],
    ['half of a header after a packet', '80cf0000 80cf00', null],
    ['a header alone', '80cf0000', [{ kind: 'other', packetType: 207 }]],
    ['a sender report of five words', '80c80005 00000001 00000002 00000003 00000004 00000005', null],
    ['a receiver report without its sender', '80c90000', null],
    ['half a report', '81c90006 00000001 00000005 06000000 00000009 0000000a 0000000b', null],
    [
      'two names, and an item before one',
      '82ca0006 00000001 02016101 01620000 00000002 01016300 00000000',
      [
        {
          kind: 'sdes',
          chunks: [
            { ssrc: 1, cname: 'b' },
            { ssrc: 2, cname: 'c' },
          ],
        },
      ],
    ],
    ['a chunk without a name', '81ca0002 00000001 00000000', [{ kind: 'sdes', chunks: [{ ssrc: 1, cname: null }] }]],
    ['a name up to the end', '81ca0002 00000001 01026162', [{ kind: 'sdes', chunks: [{ ssrc: 1, cname: 'ab' }] }]],
    ['a name that is cut', '81ca0002 00000001 01036162', null],
    ['an item without a length', '81ca0002 00000001 01016101', null],
    ['chunks that are not there', '82ca0002 00000001 01026162', null],
    ['no chunk', '80ca0000', [{ kind: 'sdes', chunks: [] }]],
    ['a goodbye with a reason', '81cb0002 00000001 03627965', [{ kind: 'bye', ssrcs: [1] }]],
    ['a goodbye of nobody', '80cb0000', [{ kind: 'bye', ssrcs: [] }]],
    ['feedback without its source', '81cd0001 00000001', null],
    ['half a NACK', '81cd0002 00000001 00000002', [{ kind: 'nack', senderSsrc: 1, mediaSsrc: 2, sequences: [] }]],
    ['transport feedback of another type', '8fce0003 00000001 00000002 00000003', [{ kind: 'other', packetType: 206 }]],
    ['feedback about a slice', '82ce0002 00000001 00000002', [{ kind: 'other', packetType: 206 }]],
    ['a request of another type', '84cd0002 00000001 00000002', [{ kind: 'other', packetType: 205 }]],
    [
      'two full requests and a rest',
      '84ce0007 00000001 00000000 00000002 01000000 00000003 ff000000 00000009',
      [
        {
          kind: 'fir',
          senderSsrc: 1,
          requests: [
            { ssrc: 2, sequence: 1 },
            { ssrc: 3, sequence: 255 },
          ],
        },
      ],
    ],
    [
      'a bitrate of no sources',
      '8fce0004 00000001 00000000 52454d42 00040005',
      [{ kind: 'remb', senderSsrc: 1, bitrate: 10, ssrcs: [] }],
    ],
    ['a bitrate of sources that are not there', '8fce0004 00000001 00000000 52454d42 01040005', null],
    ['an application message', '8fce0004 00000001 00000000 52454d43 00040005', [{ kind: 'other', packetType: 206 }]],
    [
      'a bitrate under another type',
      '8fcd0004 00000001 00000002 52454d42 00040005',
      [{ kind: 'other', packetType: 205 }],
    ],
  ])('with %s is read as what it is', (_, hex, expected) => expect(read(hex)).toEqual(expected))
})
