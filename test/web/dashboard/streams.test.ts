import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StreamOnAir } from '../../../web/dashboard/src/live.ts'
import { chosenOf, HEALTHS, orderOf, wantedOf } from '../../../web/dashboard/src/pages/streams/choose.ts'

const streams = fc.uniqueArray(
  fc.record({
    streamName: fc.string({ minLength: 1, maxLength: 6 }),
    health: fc.constantFrom(...HEALTHS),
    protocol: fc.constantFrom('whip', 'rtmp'),
    viewers: fc.nat(3),
    startedOn: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
  }),
  { selector: ({ streamName }) => streamName, maxLength: 20, size: 'max' },
) as unknown as fc.Arbitrary<StreamOnAir[]>
const queries = fc.record({
  search: fc.constantFrom('', 'a', 'Z'),
  health: fc.constantFrom('', 'steady', 'stalled', 'unknown'),
  protocol: fc.constantFrom('', 'rtmp'),
  sort: fc.constantFrom('', 'name', 'health', 'viewers', 'bitrate', 'started', 'unknown'),
  order: fc.constantFrom('', 'reverse'),
})

test('a filter keeps what it names, an order keeps all, and turning it around reverses it but for equal ones', () => {
  fc.assert(
    fc.property(streams, queries, (all, query) => {
      const wanted = wantedOf(new URLSearchParams(query))
      const names = chosenOf(all, wanted).map(({ streamName }) => streamName)
      const kept = all.filter(
        (one) =>
          one.streamName.toLowerCase().includes(query.search.toLowerCase()) &&
          [undefined, one.health].includes(wanted.health) &&
          ['', one.protocol].includes(query.protocol),
      )
      expect(names.toSorted()).toEqual(kept.map(({ streamName }) => streamName).toSorted())
      if (wanted.sortBy !== 'name') return
      const turned = chosenOf(all, { ...wanted, isDescending: !wanted.isDescending })
      expect(turned.map(({ streamName }) => streamName)).toEqual(names.toReversed())
    }),
  )
})

test('the most viewers come first, names in their order, what is wrong before what is well; a second click turns it around', () => {
  const first = (sort: string, order = '') => wantedOf(new URLSearchParams({ sort, order }))
  expect(['', 'name', 'health', 'started'].map((sort) => first(sort).isDescending)).toEqual([true, false, false, true])
  expect(orderOf('name', first(''))).toEqual({ sort: 'name', order: undefined, page: undefined })
  expect(orderOf('name', first('name')).order).toBe('reverse')
  expect(orderOf('name', first('name', 'reverse')).order).toBeUndefined()
  const of = (streamName: string, health: string, viewers: number) => ({ streamName, health, viewers }) as StreamOnAir
  const all = [of('b', 'steady', 2), of('a', 'stalled', 1), of('c', 'steady', 9)]
  const names = (sort: string, order = '') => chosenOf(all, first(sort, order)).map(({ streamName }) => streamName)
  expect([names(''), names('health'), names('health', 'reverse')]).toEqual([
    ['c', 'b', 'a'],
    ['a', 'b', 'c'],
    ['b', 'c', 'a'],
  ])
})
