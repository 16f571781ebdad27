import { expect, test } from 'vitest'
import { nodeLinksOf, parseNodeLinks, type SharedStream } from '../../../src/core/nodes/nodeLinks.ts'

const stream = (over: Partial<SharedStream>): SharedStream => ({
  node: 'b',
  direction: 'lent',
  bitrate: 1000,
  loss: null,
  roundTripMs: null,
  ...over,
})
const NONE = {
  lent: 0,
  relayed: 0,
  borrowed: 0,
  bitrateOut: 0,
  bitrateIn: 0,
  loss: null,
  roundTripMs: null,
  problem: null,
}

test('the streams of each other node are summed by direction, with the worst loss and round trip, the busiest node first', () => {
  const streams = [
    stream({ loss: 0.1, roundTripMs: 20 }),
    stream({ loss: 0.02, roundTripMs: 30 }),
    stream({ direction: 'relayed', bitrate: 500 }),
    stream({ direction: 'borrowed', bitrate: 300 }),
    stream({ node: 'c', direction: 'borrowed', bitrate: 5000, loss: 0 }),
  ]
  expect(nodeLinksOf(streams, new Map([['d', 'no_answer'] as const]))).toEqual([
    { ...NONE, node: 'c', borrowed: 1, bitrateIn: 5000, loss: 0 },
    {
      ...NONE,
      node: 'b',
      lent: 2,
      relayed: 1,
      borrowed: 1,
      bitrateOut: 2500,
      bitrateIn: 300,
      loss: 0.1,
      roundTripMs: 30,
    },
    { ...NONE, node: 'd', problem: 'no_answer' },
  ])
})

test('there are no more than 200 of them', () => {
  const streams = Array.from({ length: 300 }, (_, at) => stream({ node: String(at), bitrate: at }))
  const links = nodeLinksOf(streams, new Map())
  expect([links.length, links[0]?.node, links.at(-1)?.node]).toEqual([200, '299', '100'])
})

test('a problem that another version has is none', () => {
  const text = JSON.stringify([{ ...NONE, node: 'b', problem: 'of_later' }])
  expect(parseNodeLinks(text)).toEqual([{ ...NONE, node: 'b' }])
})
