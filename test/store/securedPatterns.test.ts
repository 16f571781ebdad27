import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { SecuredPatterns } from '../../src/store/securedPatterns.ts'
import type { Store } from '../../src/store/store.ts'

/** An account with these patterns, and how often the store is asked for them. */
function account(patterns: readonly string[]) {
  const clock = new ManualClock()
  const stored = { patterns, reads: 0, isAway: false }
  const tokens = {
    isNameSecured: async (_accountId: string, _nowMs: number, name: string) => name === 'stage',
    securedPatterns: async (_accountId: string, _nowMs: number, limit: number) => {
      stored.reads += 1
      if (stored.isAway) throw new Error('away')
      return stored.patterns.slice(0, limit)
    },
  }
  const secured = new SecuredPatterns({ read: { tokens } } as unknown as Store, clock)
  const cover = (...names: string[]) => Promise.all(names.map((name) => secured.cover('a1b2c3', name)))
  return { clock, stored, secured, cover }
}

test('the names and patterns of secured tokens cover streams', async () => {
  const { cover } = account(['cam-[0-9]+', '(?i)mic', 'x|y', 'door'])
  expect(await cover('stage', 'cam-7', 'MIC', 'y', 'door')).toEqual([true, true, true, true, true])
  expect(await cover('cam-x', 'xy', 'other', 'a cam-7', 'doors')).toEqual([false, false, false, false, false])
})

test('a flood of names reads the patterns once a second, and a changed token at once', async () => {
  const { clock, stored, secured, cover } = account(['cam-.*'])
  for (let n = 0; n < 50; n += 1) await cover(`name-${n}`)
  expect(stored.reads).toBe(1)
  stored.patterns = ['name-.*']
  expect(await cover('name-1')).toEqual([false])
  clock.advance(1000)
  expect(await cover('name-1')).toEqual([true])
  stored.patterns = []
  secured.forget()
  expect([await cover('name-1'), stored.reads]).toEqual([[false], 3])
})

test('of thousands of patterns a name is compared with those that begin as it does', async () => {
  const { cover } = account(Array.from({ length: 4000 }, (_, n) => `user-${n}-[a-z]{1,9}`))
  expect(await cover('user-3999-abc', 'user-3999-1', 'user-4000-abc', 'other')).toEqual([true, false, false, false])
})

test('a stream counts as secured where an answer would cost too much', async () => {
  const many = account(Array.from({ length: 150 }, (_, n) => `.*-${n}`))
  expect(await many.cover('other')).toEqual([true])
  const slow = account(Array.from({ length: 9 }, (_, n) => `(.*a|.*b|.*c){20}.{40}${n}`))
  expect(await slow.cover('other')).toEqual([true])
  const tooMany = account(Array.from({ length: 6000 }, (_, n) => `user-${n}-.*`))
  expect(await tooMany.cover('other')).toEqual([true])
})

test('after a failure of the store the patterns are read again', async () => {
  const { stored, cover } = account(['cam-.*'])
  stored.isAway = true
  await expect(cover('cam-1')).rejects.toThrow('away')
  stored.isAway = false
  expect(await cover('cam-1')).toEqual([true])
})
