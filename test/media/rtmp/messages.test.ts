import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Message, MESSAGE, splitAggregate } from '../../../src/media/rtmp/messages.ts'
import { aggregateOf, message } from './media.ts'

const part = fc.record({
  type: fc.constantFrom(MESSAGE.audio, MESSAGE.video, MESSAGE.data),
  streamId: fc.constant(1),
  timestamp: fc.nat(2 ** 32 - 1),
  payload: fc.uint8Array({ maxLength: 300, size: 'max' }).map((bytes) => Buffer.from(bytes)),
})

describe('an aggregate message', () => {
  test('is split into its parts, with timestamps that begin at its own', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 32 - 1), fc.array(part, { maxLength: 6 }), (timestamp, parts) => {
        const split = splitAggregate(aggregateOf(timestamp, parts))
        const firstTime = parts[0]?.timestamp ?? 0
        const moved = parts.map(
          (one): Message => ({
            ...one,
            timestamp: (timestamp + one.timestamp - firstTime + 2 ** 33) % 2 ** 32,
          }),
        )
        expect(split).toEqual({ parts: moved, isWhole: true })
      }),
    )
  })

  test('may omit its last back pointer', () => {
    const whole = aggregateOf(7, [message(MESSAGE.audio, 0, [1, 2, 3])])
    const cut = { ...whole, payload: whole.payload.subarray(0, -4) }
    expect(splitAggregate(cut)).toEqual({ parts: [message(MESSAGE.audio, 7, [1, 2, 3])], isWhole: true })
  })

  test('of any bytes is split within its bounds', () => {
    const anyBytes = fc.uint8Array({ maxLength: 200, size: 'max' }).map((bytes) => Buffer.from(bytes))
    const damaged = fc
      .tuple(fc.array(part, { minLength: 1, maxLength: 3 }), fc.nat(), fc.nat(255))
      .map(([parts, at, byte]) => {
        const { payload } = aggregateOf(0, parts)
        payload[at % payload.length] = byte
        return payload
      })
    fc.assert(
      fc.property(fc.oneof(anyBytes, damaged), (payload) => {
        const { parts } = splitAggregate(message(MESSAGE.aggregate, 0, payload))
        const total = parts.reduce((sum, one) => sum + one.payload.length, 0)
        expect(total).toBeLessThanOrEqual(payload.length)
      }),
    )
  })

  test('of half a million empty parts is split into the first thousand', () => {
    const { payload } = aggregateOf(
      0,
      Array.from({ length: 2000 }, () => message(MESSAGE.data, 0, [])),
    )
    const { parts, isWhole } = splitAggregate(message(MESSAGE.aggregate, 0, payload))
    expect([parts.length, isWhole]).toEqual([1024, false])
  })

  test('whose last part is longer than the rest has the parts before it', () => {
    const { payload } = aggregateOf(0, [message(MESSAGE.audio, 0, [9]), message(MESSAGE.video, 0, [1, 2, 3, 4, 5])])
    const parts = [message(MESSAGE.audio, 0, [9])]
    for (const bytes of [5, 12]) {
      const cut = message(MESSAGE.aggregate, 0, payload.subarray(0, -bytes))
      expect(splitAggregate(cut)).toEqual({ parts, isWhole: false })
    }
  })
})
