import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { Cookies } from '../../../src/media/srt/cookies.ts'
import { answerInduction, answerRefused, readExtensions, readHandshake, REJECT } from '../../../src/media/srt/handshake.ts'
import { extension, handshakeBody, textWords } from './caller.ts'

const LIVE = 0xbf

function request({ version = 0x1_05_00, flags = LIVE, latencyMs = 120 } = {}): Buffer {
  const body = Buffer.alloc(12)
  body.writeUInt32BE(version, 0)
  body.writeUInt32BE(flags, 4)
  body.writeUInt16BE(latencyMs, 10)
  return extension(1, body)
}

describe('a handshake', () => {
  test('of an induction is answered with no more bytes than it has', () => {
    const body = handshakeBody({ version: 4, type: 1, extensionField: 2 }, 77)
    const handshake = readHandshake(body)
    expect(handshake).toMatchObject({ kind: 'induction', sequence: 77, socketId: 0x1234 })
    expect(handshake && answerInduction(handshake, 5).length).toBe(body.length)
  })

  test('of version 4, and one of a rendezvous, is foreign', () => {
    expect(readHandshake(handshakeBody({ version: 4, type: 0xffff_ffff }, 1))?.kind).toBe('foreign')
    expect(readHandshake(handshakeBody({ version: 5, type: 0 }, 1))?.kind).toBe('foreign')
    expect(readHandshake(Buffer.alloc(47))).toBeNull()
  })

  test('has what the caller asks for', () => {
    const read = readExtensions(Buffer.concat([request({ latencyMs: 400 }), extension(5, textWords('show?t=abc'))]))
    expect(read).toEqual({
      ok: true,
      value: { streamId: 'show?t=abc', latencyMs: 400, flags: LIVE, keyMessage: null },
    })
  })

  test.each([
    ['without the extension of SRT', Buffer.alloc(0), 1004],
    ['that is cut', Buffer.concat([request(), Buffer.from([0, 5, 0, 9, 1])]), 1004],
    ['of an old version', request({ version: 0x1_02_00 }), 1008],
    ['for files', request({ flags: LIVE | 0x40 }), 1012],
    ['with the congestion control of files', Buffer.concat([request(), extension(6, textWords('file'))]), 1013],
    ['with a packet filter', Buffer.concat([request(), extension(7, textWords('fec,cols:10'))]), 1014],
    ['of a bonded group', Buffer.concat([request(), extension(8, Buffer.alloc(8))]), 1015],
    ['with a stream id of 516 bytes', Buffer.concat([request(), extension(5, textWords('x'.repeat(516)))]), 1400],
    ['with a key message that is too long', Buffer.concat([request(), extension(3, Buffer.alloc(108))]), 1004],
  ])('%s is refused with its code', (_, extensions, code) => {
    expect(readExtensions(extensions)).toMatchObject({ ok: false, error: { code } })
  })

  test('may name the congestion control of live streams', () => {
    expect(readExtensions(Buffer.concat([request(), extension(6, textWords('live'))])).ok).toBe(true)
  })
})

test('a refusal has the code that callers of libsrt show: those of applications have 1000 more on the wire', () => {
  const onWire = (code: Parameters<typeof answerRefused>[1]) => answerRefused({ sequence: 1 }, code).readUInt32BE(20)
  expect([onWire(REJECT.badSecret), onWire(REJECT.unauthorized)]).toEqual([1010, 2401])
})

test('a cookie is right for its endpoint alone, for one to two minutes', () => {
  const clock = new ManualClock(0)
  const cookies = new Cookies(systemRandom, clock)
  const cookie = cookies.make('192.0.2.1 5000')
  clock.advance(59_999)
  expect(cookies.isRight('192.0.2.1 5000', cookie)).toBe(true)
  expect(cookies.isRight('192.0.2.1 5001', cookie)).toBe(false)
  expect(new Cookies(systemRandom, clock).isRight('192.0.2.1 5000', cookie)).toBe(false)
  clock.advance(60_001)
  expect(cookies.isRight('192.0.2.1 5000', cookie)).toBe(false)
})
