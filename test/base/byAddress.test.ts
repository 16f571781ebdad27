import { expect, test } from 'vitest'
import { ByAddress } from '../../src/base/byAddress.ts'

test('counts things and finds those of one address, the oldest first, and forgets what is deleted', () => {
  const crowd = new ByAddress<string>()
  for (const [one, address] of [
    ['a', '10.0.0.1'],
    ['b', '10.0.0.2'],
    ['c', '10.0.0.1'],
    ['d', ''],
  ] as const)
    crowd.add(one, address)
  expect([...crowd]).toEqual(['a', 'b', 'c', 'd'])
  expect([...crowd.of('10.0.0.1')]).toEqual(['a', 'c'])
  crowd.delete('a')
  crowd.delete('a')
  expect([crowd.size, [...crowd.of('10.0.0.1')], [...crowd.of('10.0.0.2')]]).toEqual([3, ['c'], ['b']])
  expect([...crowd.of('10.0.0.9')]).toEqual([])
})
