import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accountId, isTimeOrderedId, timeOfId, timeOrderedId } from '../../src/base/ids.ts'
import { type Random, systemRandom } from '../../src/base/random.ts'

/** A source of its own: ids rise per source. */
const newSource = (): Random => ({ bytes: (count) => systemRandom.bytes(count) })
const always = (byte: number): Random => ({ bytes: (count) => Buffer.alloc(count, byte) })

describe('a time-ordered id', () => {
  test('is 22 base58 characters, from the first millisecond to the last of 48 bits', () => {
    for (const time of [0, 1, Date.UTC(2026, 0), 2 ** 48 - 1]) {
      expect(timeOrderedId(time, newSource())).toMatch(/^[1-9A-HJ-NP-Za-km-z]{22}$/)
    }
  })

  test('has a form that other text has not', () => {
    const time = fc.nat({ max: 2 ** 48 - 1 })
    fc.assert(fc.property(time, (ms) => isTimeOrderedId(timeOrderedId(ms, newSource()))))
    for (const text of ['', 'x', '0'.repeat(22), 'l'.repeat(22), '1'.repeat(21), '1'.repeat(23), `${'1'.repeat(22)}\n`])
      expect(isTimeOrderedId(text)).toBe(false)
  })

  test('tells its time', () => {
    const time = fc.nat({ max: 2 ** 48 - 1 })
    fc.assert(fc.property(time, (ms) => timeOfId(timeOrderedId(ms, newSource())) === ms))
  })

  test('sorts as text by its time, whichever source it is from', () => {
    const time = fc.nat({ max: 2 ** 48 - 1 })
    fc.assert(
      fc.property(time, time, (a, b) => {
        fc.pre(a < b)
        expect(timeOrderedId(a, newSource()) < timeOrderedId(b, newSource())).toBe(true)
      }),
    )
  })

  test('rises within one source, also within a millisecond and when the clock steps back', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 }), { minLength: 2, maxLength: 50, size: 'max' }), (times) => {
        const random = newSource()
        const ids = times.map((time) => timeOrderedId(time, random))
        expect(ids).toEqual([...new Set(ids)].sort())
      }),
    )
  })

  test('rises past the last random value of a millisecond', () => {
    const random = always(255)
    const [first, second] = [timeOrderedId(5, random), timeOrderedId(5, random)]
    expect(second > first).toBe(true)
  })

  test('is the same on every machine', () => {
    expect(timeOrderedId(0, always(0))).toBe('1'.repeat(22))
    expect(timeOrderedId(2 ** 48 - 1, always(255))).toBe('YcVfxkQb6JRzqk5kF2tNLv')
  })
})

describe('an account id', () => {
  test('is a letter and five letters or digits', () => {
    for (let i = 0; i < 1000; i++) expect(accountId(systemRandom)).toMatch(/^[a-z][a-z0-9]{5}$/)
  })

  test('uses every letter and digit, each about as often', () => {
    const characters = Array.from({ length: 4_000 }, () => accountId(systemRandom).slice(1)).join('')
    const counts = 'abcdefghijklmnopqrstuvwxyz0123456789'.split('').map((c) => characters.split(c).length - 1)
    // 20 000 characters over 36: 556 each, with a standard deviation of 23; ten of them are no accident.
    for (const count of counts) expect(Math.abs(count - 20_000 / 36)).toBeLessThan(230)
  })

  test('fails on a random source that never returns a usable byte', () => {
    expect(() => accountId(always(255))).toThrow('randomness is broken')
  })
})
