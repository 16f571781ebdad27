import { expect, test } from 'vitest'
import { ByAddress } from '../../src/base/byAddress.ts'

test('counts things and finds those of one address, the oldest first, and forgets what is deleted', () => {
  const crowd = new ByAddress<string>(() => null)
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

test('an address makes room of its own, a network of its own too, and others only when there are too many in all', () => {
  const crowd = new ByAddress<number>((address) => (address.includes(':') ? (address.split(':')[0] ?? null) : null))
  const limits = { ofAddress: 2, ofAll: 8 }
  const comes = (one: number, address: string): readonly number[] | null => {
    const full = crowd.crowdFor(address, limits)
    if (full === null) crowd.add(one, address)
    return full && [...full]
  }
  expect([comes(0, 'v4'), comes(1, 'v4'), comes(2, 'v4')]).toEqual([null, null, [0, 1]])
  // A network has halfway from 2 to 8.
  expect([comes(3, 'n:1'), comes(4, 'n:1'), comes(5, 'n:1')]).toEqual([null, null, [3, 4]])
  expect([comes(6, 'n:2'), comes(7, 'n:3'), comes(8, 'n:4'), comes(9, 'n:5')]).toEqual([
    null,
    null,
    null,
    [3, 4, 6, 7, 8],
  ])
  expect(comes(10, 'm:1')).toBeNull()
  expect(comes(11, 'other')).toEqual([0, 1, 3, 4, 6, 7, 8, 10])
  crowd.delete(3)
  expect([[...crowd.around('n:9')], [...crowd.around('v4')]]).toEqual([[4, 6, 7, 8], []])
  expect(comes(12, 'n:5')).toBeNull()
})
