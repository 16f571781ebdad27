import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HandshakeOrder } from '../../../src/media/relay/transport/dtlsOrder.ts'
import { fragment } from './handshakeFragment.ts'

/** A client's: two ClientHello, the certificate, the key exchange, the signature. */
const TYPES = [1, 1, 11, 16, 15]

describe('messages of a handshake', () => {
  it('pass once each and whole, whatever is lost, repeated or out of order, if only the client goes on', () => {
    const lengths = fc.array(fc.nat(40), { minLength: TYPES.length, maxLength: TYPES.length })
    const noise = fc.array(fc.record({ at: fc.nat(200), isLost: fc.boolean() }), { maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 20 }), noise, (sizes, size, disorder) => {
        const order = new HandshakeOrder()
        const passed: string[] = []
        const give = (body: Buffer): void => {
          if (order.takes(body)) passed.push(body.toString('hex'))
        }
        const fragments = TYPES.flatMap((type, number) => {
          const message = { type, number, length: sizes[number] ?? 0 }
          const begins = Array.from({ length: Math.max(1, Math.ceil(message.length / size)) }, (_, at) => at * size)
          return begins.map((begin) => fragment(message, begin, Math.min(message.length, begin + size)))
        })
        for (const [at, body] of fragments.entries()) {
          for (const { at: other } of disorder.filter(({ isLost }) => isLost)) {
            // Of what comes later nothing may pass, and of what came before nothing again, but for a ClientHello.
            const one = fragments[(at + 1 + other) % fragments.length]
            if (one !== undefined && one !== body && one[0] !== 1) give(one)
          }
          give(body)
          if (body[0] !== 1) give(body)
        }
        expect(passed).toEqual(fragments.map((one) => one.toString('hex')))
      }),
      { numRuns: 300 },
    )
  })

  it('a ClientHello may come again until the next message has come, in one piece or in several', () => {
    const order = new HandshakeOrder()
    const hello = { type: 1, number: 0, length: 30 }
    const pieces = [fragment(hello, 0, 20), fragment(hello, 20, 30)]
    for (let times = 0; times < 3; times++) expect(pieces.map((one) => order.takes(one))).toEqual([true, true])
    expect(order.takes(fragment({ type: 1, number: 1, length: 5 }, 0, 5))).toBe(true)
    expect(pieces.map((one) => order.takes(one))).toEqual([false, false])
    expect(order.takes(fragment({ type: 11, number: 2, length: 5 }, 0, 5))).toBe(true)
    expect(order.takes(fragment({ type: 1, number: 1, length: 5 }, 0, 5))).toBe(false)
  })

  it('several of one record pass together or not at all', () => {
    const order = new HandshakeOrder()
    const [first, second] = [0, 1].map((number) => fragment({ type: 11, number, length: 4 }, 0, 4)) as [Buffer, Buffer]
    expect(order.takes(Buffer.concat([first, first]))).toBe(false)
    expect(order.takes(Buffer.concat([first, second]))).toBe(true)
    expect(order.takes(second)).toBe(false)
  })

  it('garbage does not pass, and disturbs nothing', () => {
    const order = new HandshakeOrder()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60, size: 'max' }), (bytes) => {
        const body = Buffer.from(bytes)
        if (body.length >= 6 && body.readUInt16BE(4) === 0) body.writeUInt16BE(7, 4)
        expect(order.takes(body)).toBe(false)
      }),
    )
    expect(order.takes(fragment({ type: 1, number: 0, length: 9 }, 0, 9))).toBe(true)
  })
})
