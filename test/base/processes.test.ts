import { expect, test } from 'vitest'
import { pidAt, processKey } from '../../src/base/processes.ts'

test.each(['host:/srv/a', 'host:/srv/a#b', 'host:/srv/#', 'host:/srv/a#12'])(
  'the key of a process at %s has its number',
  (hostKey) => {
    expect(pidAt(hostKey, processKey(hostKey, 123, 'id'))).toBe(123)
  },
)

test('the key of a process at another place has none, whatever the places are called', () => {
  const keys = ['host:/srv/ab', 'host:/srv/a#12', 'host:/srv', 'other:/srv/a'].map((hostKey) =>
    processKey(hostKey, 99, 'id'),
  )
  expect(keys.map((key) => pidAt('host:/srv/a', key))).toEqual([null, null, null, null])
  expect(['', 'host:/srv/a', 'host:/srv/a#', 'host:/srv/a#x#id'].map((key) => pidAt('host:/srv/a', key))).toEqual(
    Array(4).fill(null),
  )
})
