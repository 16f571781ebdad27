import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { Cookies } from '../../../src/media/srt/cookies.ts'
import {
  answerInduction,
  answerRefused,
  readExtensions,
  readHandshake,
  REJECT,
} from '../../../src/media/srt/handshake.ts'
import { extension, handshakeBody, srtRequest, textWords } from './caller.ts'

const LIVE = 0xbf

describe('a handshake', () => {
  test('of an induction is answered with no more bytes than it has', () => {
    const body = handshakeBody({ version: 4, type: 1, extensionField: 2 }, 77)
    const handshake = readHandshake(body)
    expect(handshake).toMatchObject({ kind: 'induction', sequence: 77, socketId: 0x1234 })
    expect(handshake && answerInduction(handshake, 5).length).toBe(body.length)
  })

  test('of version 4 is foreign, and one of a rendezvous is told from it', () => {
    expect(readHandshake(handshakeBody({ version: 4, type: 0xffff_ffff }, 1))?.kind).toBe('foreign')
    expect(readHandshake(handshakeBody({ version: 5, type: 0 }, 1))?.kind).toBe('rendezvous')
    expect(readHandshake(Buffer.alloc(47))).toBeNull()
  })

  test('has what the caller asks for', () => {
    const read = readExtensions(Buffer.concat([srtRequest({ latencyMs: 400 }), extension(5, textWords('show?t=abc'))]))
    expect(read).toEqual({
      ok: true,
      value: { streamId: 'show?t=abc', latencyMs: 400, flags: LIVE, keyMessage: null },
    })
  })

  test.each([
    ['without the extension of SRT', Buffer.alloc(0), 1004],
    ['that is cut', Buffer.concat([srtRequest(), Buffer.from([0, 5, 0, 9, 1])]), 1004],
    ['of an old version', srtRequest({ version: 0x1_02_00 }), 1008],
    ['for files', srtRequest({ flags: LIVE | 0x40 }), 1012],
    ['with the congestion control of files', Buffer.concat([srtRequest(), extension(6, textWords('file'))]), 1013],
    ['with a packet filter', Buffer.concat([srtRequest(), extension(7, textWords('fec,cols:10'))]), 1014],
    ['of a bonded group', Buffer.concat([srtRequest(), extension(8, Buffer.alloc(8))]), 1015],
    ['with a stream id of 516 bytes', Buffer.concat([srtRequest(), extension(5, textWords('x'.repeat(516)))]), 1400],
    ['with a key message that is too long', Buffer.concat([srtRequest(), extension(3, Buffer.alloc(108))]), 1004],
  ])('%s is refused with its code', (_, extensions, code) => {
    expect(readExtensions(extensions)).toMatchObject({ ok: false, error: { code } })
  })

  test('may name the congestion control of live streams', () => {
    expect(readExtensions(Buffer.concat([srtRequest(), extension(6, textWords('live'))])).ok).toBe(true)
  })
})

test('a refusal has the code that callers of libsrt show: those of applications have 1000 more on the wire', () => {
  const onWire = (code: Parameters<typeof answerRefused>[1]) => answerRefused({ sequence: 1 }, code).readUInt32BE(20)
  expect([onWire(REJECT.badSecret), onWire(REJECT.unauthorized)]).toEqual([1010, 2401])
  // No more bytes than the shortest handshake has, because some go to addresses that are not proved.
  expect(answerRefused({ sequence: 1 }, REJECT.rogue).length).toBe(48)
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
