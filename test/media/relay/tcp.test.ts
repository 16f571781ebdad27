import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { messageReader } from '../../../src/media/relay/tcp.ts'

const framed = (message: Uint8Array): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

test('messages are the same however the stream is cut into pieces', () => {
  const messages = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { maxLength: 20 })
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map(framed))
      const got: Buffer[] = []
      const read = messageReader((message) => got.push(Buffer.from(message)))
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const end = at + (cuts[turn % cuts.length] ?? 1)
        expect(read(stream.subarray(at, end))).toBe(true)
        at = end
      }
      expect(got).toEqual(sent.map((message) => Buffer.from(message)))
    }),
  )
})

test('a stream that announces more than any datagram holds is none of ours', () => {
  const read = messageReader(() => undefined)
  expect(read(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBe(false)
})
