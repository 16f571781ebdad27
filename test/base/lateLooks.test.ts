import { expect, test } from 'vitest'
import { LateLooks } from '../../src/base/lateLooks.ts'

test('a look that is late by more than a second says how much it missed, and what lasts begins again', () => {
  const looks = new LateLooks(1000, 0)
  expect([looks.look(1000), looks.look(3000)]).toEqual([0, 0])
  expect(looks.lastedMs(500, 3000)).toBe(2500)
  expect(looks.look(63_000)).toBe(59_000)
  expect(looks.lastedMs(500, 63_000)).toBe(0)
  expect(looks.look(64_000)).toBe(0)
  expect([looks.lastedMs(500, 64_000), looks.lastedMs(63_900, 64_000)]).toEqual([1000, 100])
})
