import { expect, test } from 'vitest'
import { freeNode, type OtherNode } from '../../../src/core/nodes/freeNode.ts'

const VERSION = '0.4.2'
const node = (url: string | null, over: Partial<OtherNode> = {}): OtherNode => ({
  url,
  isServing: true,
  region: 'north',
  ageMs: 5000,
  version: VERSION,
  full: [],
  mediaPercent: 50,
  cpuPercent: 10,
  ...over,
})

/** How often each node is chosen by a hundred clients, whose random numbers are evenly spread. */
const crowd = (...nodes: OtherNode[]) => crowdFor(null, ...nodes)

function crowdFor(regions: readonly string[] | null, ...nodes: OtherNode[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let n = 0; n < 100; n++) {
    const url = freeNode(nodes, { version: VERSION, region: 'north' }, regions, (n + 0.5) / 100) ?? 'none'
    counts[url] = (counts[url] ?? 0) + 1
  }
  return counts
}

test('a crowd spreads over the nodes by what is free of each, and no free node is left out', () => {
  expect(crowd(node('a', { mediaPercent: 20 }), node('b', { mediaPercent: 80 }))).toEqual({ a: 80, b: 20 })
  expect(crowd(node('a', { mediaPercent: null, cpuPercent: null }), node('b', { cpuPercent: 100 }))).toEqual({
    a: 99,
    b: 1,
  })
})

test.each<[string, Partial<OtherNode>]>([
  ['is full', { full: ['egress'] }],
  ['is silent or drains', { isServing: false }],
  ['has no URL', { url: null }],
  ['has not reported for half a minute', { ageMs: 30_000 }],
  ['runs an older version', { version: '0.4.1' }],
  ['has a version that is none', { version: 'none' }],
])('no client goes to a node that %s', (_, over) => {
  expect(crowd(node('other', over), node('free'))).toEqual({ free: 100 })
  expect(crowd(node('other', over))).toEqual({ none: 100 })
})

test('nodes of another region take clients only when none of the own region does', () => {
  const far = node('far', { region: 'south', mediaPercent: 0 })
  expect(crowd(far, node('near', { mediaPercent: 84 }))).toEqual({ near: 100 })
  expect(crowd(far, node('near', { full: ['media'] }))).toEqual({ far: 100 })
})

test('only nodes of the regions that may take a client get it', () => {
  const [far, near] = [node('far', { region: 'south', mediaPercent: 99 }), node('near', { mediaPercent: 0 })]
  expect(crowdFor(['south'], far, near)).toEqual({ far: 100 })
  expect(crowdFor(['south', 'north'], far, near)).toEqual({ near: 100 })
  expect([crowdFor(['west'], far, near), crowdFor([], far, near)]).toEqual([{ none: 100 }, { none: 100 }])
})

test('a newer node takes clients of an older one', () => {
  for (const version of ['0.4.3', '0.10.0', '1.0.0']) expect(crowd(node('newer', { version }))).toEqual({ newer: 100 })
})
