import { describe, expect, it } from 'vitest'
import { HandshakeOrder } from '../../../src/media/relay/transport/dtlsOrder.ts'
import { cookieIn, isHelloVerifyRequest, recordsOf } from '../../../src/media/relay/transport/dtlsRecords.ts'

/** A fragment of a handshake message: from `begin` to `end` of `length` bytes. */
function fragment(type: number, number: number, length: number, begin = 0, end = length): Buffer {
  const head = Buffer.alloc(12)
  head[0] = type
  head.writeUIntBE(length, 1, 3)
  head.writeUInt16BE(number, 4)
  head.writeUIntBE(begin, 6, 3)
  head.writeUIntBE(end - begin, 9, 3)
  return Buffer.concat([head, Buffer.alloc(end - begin)])
}
const [HELLO, CERTIFICATE, KEY_EXCHANGE] = [1, 11, 16]

describe('the handshake of a client', () => {
  const takes = (...bodies: Buffer[]): boolean[] => {
    const order = new HandshakeOrder()
    return bodies.map((body) => order.takes(body))
  }

  it('passes once and in order, in one piece or in several', () => {
    expect(
      takes(fragment(HELLO, 0, 50), fragment(HELLO, 1, 60), fragment(CERTIFICATE, 2, 9), fragment(KEY_EXCHANGE, 3, 9)),
    ).toEqual([true, true, true, true])
    expect(takes(fragment(HELLO, 0, 50), fragment(CERTIFICATE, 1, 9), fragment(CERTIFICATE, 1, 9))).toEqual([
      true,
      true,
      false,
    ])
    expect(takes(fragment(CERTIFICATE, 1, 9), fragment(HELLO, 0, 50), fragment(CERTIFICATE, 2, 9))).toEqual([
      false,
      true,
      false,
    ])
    expect(
      takes(
        fragment(HELLO, 0, 9, 0, 4),
        fragment(HELLO, 0, 9, 5, 9),
        fragment(HELLO, 0, 9, 4, 9),
        fragment(CERTIFICATE, 1, 0),
      ),
    ).toEqual([true, false, true, true])
    expect(takes(fragment(HELLO, 0, 9, 0, 4), fragment(HELLO, 0, 9, 0, 4), fragment(CERTIFICATE, 1, 9))).toEqual([
      true,
      false,
      false,
    ])
  })

  it('repeats its first message until it has an answer, in pieces too, and no other', () => {
    const [half, rest] = [fragment(HELLO, 0, 9, 0, 4), fragment(HELLO, 0, 9, 4, 9)]
    expect(takes(fragment(HELLO, 0, 9), fragment(HELLO, 0, 9), half, rest, half)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ])
    expect(takes(fragment(HELLO, 0, 9), rest, half, half, rest)).toEqual([true, false, true, false, true])
    expect(takes(fragment(HELLO, 0, 9), fragment(HELLO, 1, 9), fragment(HELLO, 0, 9), fragment(HELLO, 1, 9))).toEqual([
      true,
      true,
      false,
      true,
    ])
    expect(takes(fragment(HELLO, 0, 9), fragment(CERTIFICATE, 0, 9))).toEqual([true, false])
    expect(takes(fragment(CERTIFICATE, 0, 9), fragment(CERTIFICATE, 0, 9))).toEqual([true, false])
    expect(takes(fragment(HELLO, 0, 9), fragment(CERTIFICATE, 1, 9), fragment(HELLO, 0, 9))).toEqual([
      true,
      true,
      false,
    ])
  })

  it('passes as whole records: one bad message drops all of its record', () => {
    const both = Buffer.concat([fragment(HELLO, 0, 9), fragment(CERTIFICATE, 1, 9)])
    expect(takes(both, fragment(KEY_EXCHANGE, 2, 9))).toEqual([true, true])
    const bad = Buffer.concat([fragment(HELLO, 0, 9), fragment(CERTIFICATE, 2, 9)])
    expect(takes(bad, fragment(HELLO, 0, 9), fragment(CERTIFICATE, 1, 9))).toEqual([false, true, true])
    expect(takes(Buffer.alloc(0), Buffer.alloc(11), fragment(HELLO, 0, 9).subarray(0, 20))).toEqual([
      false,
      false,
      false,
    ])
    expect(takes(Buffer.concat([fragment(HELLO, 0, 9), Buffer.alloc(5)]), fragment(HELLO, 0, 9))).toEqual([false, true])
    expect(takes(fragment(HELLO, 0, 9, 0, 10), fragment(HELLO, 0, 9, 0, 0), fragment(HELLO, 0, 0))).toEqual([
      false,
      false,
      true,
    ])
  })
})

describe('a DTLS record', () => {
  const record = (type: number, body: Buffer): Buffer => {
    const head = Buffer.alloc(13, type)
    head.writeUInt16BE(body.length, 11)
    return Buffer.concat([head, body])
  }
  const hello = (sessionId: number, cookie: Buffer): Buffer =>
    Buffer.concat([
      fragment(HELLO, 0, 34, 0, 34),
      Buffer.from([sessionId]),
      Buffer.alloc(sessionId),
      Buffer.from([cookie.length]),
      cookie,
    ])

  it('is found in its datagram, up to the first that is cut short', () => {
    const [one, two] = [record(22, Buffer.from('one')), record(21, Buffer.alloc(0))]
    expect(recordsOf(Buffer.concat([one, two]))).toEqual([one, two])
    expect(recordsOf(Buffer.concat([one, two]).subarray(0, -1))).toEqual([one])
    expect(recordsOf(Buffer.concat([one, two, one.subarray(0, 15)]))).toEqual([one, two])
    expect(recordsOf(Buffer.alloc(12))).toEqual([])
  })

  it('of a HelloVerifyRequest is known', () => {
    const all = [
      record(22, Buffer.from([3])),
      record(22, Buffer.from([2])),
      record(23, Buffer.from([3])),
      Buffer.alloc(0),
    ]
    expect(all.map(isHelloVerifyRequest)).toEqual([true, false, false, false])
  })

  it('of a ClientHello has a cookie, or an empty one', () => {
    const cookie = Buffer.from('cookie')
    expect([hello(0, Buffer.alloc(0)), hello(0, cookie), hello(32, cookie)].map(cookieIn)).toEqual([
      Buffer.alloc(0),
      cookie,
      cookie,
    ])
    const [whole, other, later] = [hello(4, cookie), hello(4, cookie), hello(4, cookie)]
    other[0] = 2
    later[8] = 1
    expect(
      [whole.subarray(0, -1), whole.subarray(0, 51), whole.subarray(0, 46), other, later, Buffer.alloc(0)].map(
        cookieIn,
      ),
    ).toEqual(Array(6).fill(null))
    expect(cookieIn(Buffer.concat([whole, Buffer.from('more')]))).toEqual(cookie)
    expect(cookieIn(hello(0, Buffer.alloc(0)).subarray(0, 47))).toBeNull()
  })
})
