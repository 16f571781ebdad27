import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  extensionOf,
  isAfter,
  isRtcp,
  parseRtp,
  payloadOf,
  sequenceDistance,
  timestampDistance,
  unwrapSequence,
  writeRtp,
  writeRtpHeader,
} from '../../../../src/media/relay/wire/rtp.ts'

const fields = fc.record({
  marker: fc.boolean(),
  payloadType: fc.nat(127),
  sequence: fc.nat(0xffff),
  timestamp: fc.nat(0xffffffff),
  ssrc: fc.nat(0xffffffff),
})
const elements = (ids: number, size: number) =>
  fc.uniqueArray(
    fc.record({ id: fc.integer({ min: 1, max: ids }), value: fc.uint8Array({ minLength: 1, maxLength: size }) }),
    {
      maxLength: 6,
      selector: ({ id }) => id,
    },
  )

describe('an RTP packet', () => {
  it('comes back as it was written, with every extension of one and of two bytes', () => {
    const extensions = fc.oneof(elements(14, 16), elements(255, 40))
    fc.assert(
      fc.property(fields, extensions, fc.uint8Array({ maxLength: 50 }), (written, some, payload) => {
        const packet = writeRtp(written, payload, some)
        const header = parseRtp(packet)
        expect(header).toMatchObject(written)
        if (header === null) return
        expect(new Uint8Array(payloadOf(packet, header))).toEqual(payload)
        for (const { id, value } of some) expect(extensionOf(packet, header, id)).toEqual(Buffer.from(value))
        expect(extensionOf(packet, header, 256)).toBeNull()
      }),
    )
  })

  it('is read with contributing sources, padding, and elements of padding between extensions', () => {
    const packet = Buffer.from('b2e0000100000002000000030000000a0000000bbede000200513132002041ffaabb00000003', 'hex')
    const header = parseRtp(packet)
    expect(header).toMatchObject({ marker: true, payloadType: 96, csrcCount: 2, extensionProfile: 0xbede })
    if (header === null) return
    expect(payloadOf(packet, header).toString('hex')).toBe('aabb00')
    expect(extensionOf(packet, header, 5)?.toString()).toBe('12')
    expect(extensionOf(packet, header, 2)?.toString()).toBe('A')
    expect(extensionOf(packet, header, 4)).toBeNull()
  })

  it.each([
    ['too short', '8060000100000002000000'],
    ['version 1', '406000010000000200000003'],
    ['sources that are not there', '816000010000000200000003'],
    ['an extension that is not there', '906000010000000200000003bede0001'],
    ['more padding than packet', 'a06000010000000200000003000000ff'],
    ['padding of nothing', 'a0600001000000020000000300000000'],
  ])('is refused with %s', (_, hex) => expect(parseRtp(Buffer.from(hex, 'hex'))).toBeNull())

  it('has its header written in place', () => {
    fc.assert(
      fc.property(fields, (written) => {
        const packet = Buffer.alloc(12, 0xff)
        writeRtpHeader(packet, written)
        expect(packet).toEqual(writeRtp(written, Buffer.alloc(0)))
      }),
    )
  })

  it('is told from RTCP by its type', () => {
    expect([192, 200, 223].map((type) => isRtcp(Buffer.from([0x80, type])))).toEqual([true, true, true])
    expect([96, 127, 224, 191].map((type) => isRtcp(Buffer.from([0x80, type])))).toEqual([false, false, false, false])
  })
})

describe('numbers that wrap', () => {
  it('are ordered around the wrap', () => {
    expect(isAfter(0, 65535)).toBe(true)
    expect(isAfter(65535, 0)).toBe(false)
    expect(isAfter(5, 5)).toBe(false)
    expect(sequenceDistance(2, 65534)).toBe(4)
    expect(timestampDistance(100, 0xffffffff)).toBe(101)
    expect(timestampDistance(0xffffffff, 100)).toBe(-101)
  })

  it('are counted on, whatever small step they make', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer({ min: -32768, max: 32767 }), (last, step) => {
        expect(unwrapSequence(last, (last + step) & 0xffff)).toBe(last + step)
      }),
    )
  })
})
