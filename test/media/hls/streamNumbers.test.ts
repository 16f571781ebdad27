import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { firstNumbers } from '../../../src/core/hls/numbers.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'

const AT = Date.UTC(2027, 0, 1)

test('a stream that begins again a moment later has a higher discontinuity, and other streams are not affected', () => {
  const clock = new ManualClock(AT)
  const numbers = new StreamNumbers(clock)
  const { discontinuity } = numbers.begin('show')
  numbers.ended('show', discontinuity + 7)
  clock.advance(1000)
  expect(numbers.begin('show').discontinuity).toBe(discontinuity + 7)
  expect(numbers.begin('other').discontinuity).toBe(discontinuity)
})

test('the clock raises the discontinuity of a stream that paused for long', () => {
  const clock = new ManualClock(AT)
  const numbers = new StreamNumbers(clock)
  numbers.ended('show', numbers.begin('show').discontinuity + 7)
  clock.advance(86_400_000)
  expect(numbers.begin('show')).toEqual(firstNumbers(AT + 86_400_000))
})

test('after a restart of the server all discontinuities are higher', () => {
  const numbers = new StreamNumbers(new ManualClock(AT))
  const least = numbers.begin('show').discontinuity + 3
  numbers.raise(least)
  expect(numbers.begin('show')).toEqual({ ...firstNumbers(AT), discontinuity: least })
})
