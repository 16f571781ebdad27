import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  extensionOf,
  isRtcp,
  parseRtp,
  payloadOf,
  sequenceDistance,
  timestampDistance,
  unwrapSequence,
  writeRtpHeader,
} from '../../../../src/media/relay/wire/rtp.ts'
import { writeRtp } from '../../../support/rtpPackets.ts'

const fields = fc.record({
  marker: fc.boolean(),
  payloadType: fc.nat(127),
  sequence: fc.nat(0xffff),
  timestamp: fc.nat(0xffffffff),
  ssrc: fc.nat(0xffffffff),
})
const elements = (ids: number, size: number) =>
  fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 1, max: ids }),
      value: fc.uint8Array({ minLength: 1, maxLength: size, size: 'max' }),
    }),
    {
      maxLength: 6,
      selector: ({ id }) => id,
    },
  )

describe('an RTP packet', () => {
  it('comes back as it was written, with every extension of one and of two bytes', () => {
    const extensions = fc.oneof(elements(14, 16), elements(255, 40))
    fc.assert(
      fc.property(fields, extensions, fc.uint8Array({ maxLength: 50, size: 'max' }), (written, some, payload) => {
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
    expect(header).toMatchObject({ marker: true, payloadType: 96, extensionProfile: 0xbede })
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

  const HEAD = '906000010000000200000003'
  it.each<[string, string, number, string | null]>([
    ['that fills the extension', 'bede0001 51aabb00', 5, 'aabb'],
    ['that leads out of it', 'bede0001 53aabbcc', 5, null],
    ['behind one that leads out of it', 'bede0001 6faabbcc', 5, null],
    ['behind one that ends the list', 'bede0002 f0000000 50aa0000', 5, null],
    ['of the id that ends the list', 'bede0001 f0aa0000', 15, null],
    ['of the id of padding', 'bede0001 00000000', 0, null],
    ['behind padding', 'bede0003 00000000 00000050 aa000000', 5, 'aa'],
    ['of two bytes', '10000002 0502aabb 00000000', 5, 'aabb'],
    ['of two bytes with nothing in it', '10000001 05000000', 5, ''],
    ['of two bytes in another version', '100f0001 0501aa00', 5, 'aa'],
    ['of another profile', '20000001 0501aa00', 5, null],
    ['of two bytes that leads out', '10000001 0503aabb', 5, null],
    ['of two bytes behind one that leads out', '10000001 0603aabb', 5, null],
    ['of two bytes that is half there', '10000001 00000005', 5, null],
    ['of two bytes behind padding and others', '10000002 00070100 00050101', 5, '01'],
    ['of nothing', 'bede0000', 5, null],
  ])('has an element %s, or has it not', (_, extension, id, expected) => {
    const packet = Buffer.from(`${HEAD}${extension}`.replaceAll(' ', '') + 'ffff', 'hex')
    const header = parseRtp(packet)
    if (header === null) throw new Error('it is a packet')
    expect(extensionOf(packet, header, id)?.toString('hex') ?? null).toBe(expected)
    expect(payloadOf(packet, header).toString('hex')).toBe('ffff')
  })

  it('may be all header, extension and padding, and no byte less', () => {
    const whole = Buffer.from('b06000010000000200000003bede000150aa00000202', 'hex')
    const header = parseRtp(whole)
    expect([header?.payloadStart, header?.payloadEnd]).toEqual([20, 20])
    whole[21] = 3
    expect(parseRtp(whole)).toBeNull()
    for (let end = 0; end < 20; end += 1) {
      const cut = Buffer.from(`${HEAD}bede000150aa0000`, 'hex').subarray(0, end)
      expect(parseRtp(cut)).toBeNull()
    }
    expect(parseRtp(Buffer.from(`${HEAD}bede000150aa0000`, 'hex'))).toMatchObject({ payloadStart: 20, payloadEnd: 20 })
    expect(parseRtp(Buffer.from('806000010000000200000003', 'hex'))).toMatchObject({
      extensionProfile: 0,
      payloadEnd: 12,
    })
  })

  it('has as many sources as it says, and neither extension nor padding for that', () => {
    const whole = Buffer.from('816000010000000200000003000000090a0b0c0d', 'hex')
    expect(parseRtp(whole)).toMatchObject({ extensionProfile: 0, payloadStart: 16, payloadEnd: 20 })
    expect(parseRtp(whole.subarray(0, 15))).toBeNull()
  })

  it('is written with the short form of elements wherever they fit it', () => {
    const head = { marker: false, payloadType: 96, sequence: 1, timestamp: 2, ssrc: 3 }
    const written = (id: number, bytes: number) =>
      writeRtp(head, Buffer.alloc(0), [{ id, value: Buffer.alloc(bytes, 0xaa) }])
        .subarray(12, 18)
        .toString('hex')
    expect([written(14, 1), written(15, 1), written(1, 16), written(1, 17), written(1, 0)]).toEqual([
      'bede0001e0aa',
      '100000010f01',
      'bede00051faa',
      '100000050111',
      '100000010100',
    ])
    const wide = { ...head, payloadType: 0xff, sequence: 0x10001, timestamp: -1, ssrc: 2 ** 32 + 3 }
    expect(writeRtp(wide, Buffer.alloc(0)).toString('hex')).toBe('807f0001ffffffff00000003')
  })

  it('has its header written in place', () => {
    fc.assert(
      fc.property(fields, (written) => {
        const packet = Buffer.alloc(12, 0xff)
        writeRtpHeader(packet, written, written.sequence)
        expect(packet).toEqual(writeRtp(written, Buffer.alloc(0)))
      }),
    )
  })

  it('is told from RTCP by its type', () => {
    expect([192, 200, 223].map((type) => isRtcp(Buffer.from([0x80, type])))).toEqual([true, true, true])
    expect([96, 127, 224, 191].map((type) => isRtcp(Buffer.from([0x80, type])))).toEqual([false, false, false, false])
    expect(isRtcp(Buffer.alloc(1, 200))).toBe(false)
  })
})

describe('numbers that wrap', () => {
  it('are ordered around the wrap', () => {
    expect(sequenceDistance(2, 65534)).toBe(4)
    expect([sequenceDistance(32767, 0), sequenceDistance(32768, 0)]).toEqual([32767, -32768])
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
