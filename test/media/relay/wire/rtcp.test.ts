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
  { maxLength: 31 },
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
      fc.property(senderReports, blocks, u32, fc.string({ maxLength: 40 }), (report, reports, ssrc, cname) => {
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
      }),
    )
  })

  it('asks for exactly the lost packets, around the wrap as well', () => {
    const lost = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 60 })
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
})
