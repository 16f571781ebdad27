import { expect, test } from 'vitest'
import { areNear, type LinkNode, linkParent } from '../../../src/core/nodes/linkParent.ts'

const node = (region: string, over: Partial<LinkNode> = {}): LinkNode => ({
  region,
  url: `https://${region}.example`,
  hasLease: true,
  isDraining: false,
  ...over,
})
const NODES = { home: node('north'), near: node('north'), parent: node('south'), asker: node('south') }
const parentOf = (children: string[], over: Partial<Record<keyof typeof NODES, LinkNode>> = {}) =>
  linkParent('asker', 'home', children, new Map(Object.entries({ ...NODES, ...over })))?.node ?? null

test('the first node of a region has a stream from the node of the feed, the others have it from that one', () => {
  expect(parentOf([])).toBe(null)
  expect(parentOf(['near', 'parent'])).toBe('parent')
  expect(parentOf(['asker', 'gone'])).toBe(null)
})

test('in the region of the feed, and without regions, its node lends to all', () => {
  expect(parentOf(['near', 'parent'], { asker: node('north') })).toBe(null)
  expect(parentOf(['near', 'parent'], { home: node(''), near: node(''), parent: node(''), asker: node('') })).toBe(null)
})

test('two nodes that are not listed are not near each other, although neither has a region', () => {
  expect(areNear('gone', 'lost', new Map())).toBe(false)
})

test.each<[string, Partial<LinkNode>]>([
  ['drains', { isDraining: true }],
  ['has no lease', { hasLease: false }],
  ['has no URL', { url: null }],
])('a node that %s is named to none', (_, over) => {
  expect(parentOf(['parent'], { parent: node('south', over) })).toBe(null)
})
