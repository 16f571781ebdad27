import { describe, expect, test } from 'vitest'
import {
  type Drain,
  followersAtOnce,
  hlsNodeFor,
  isPublisherDue,
  type Movable,
  planMoves,
} from '../../../src/core/nodes/drain.ts'

const MINUTE = 60_000
const ids = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`)

/** A fixed series of numbers from 0 to 1. */
function numbers(): () => number {
  let state = 1
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647
}

const drain = (what: Movable, names: readonly string[] = ['a', 'b']): Drain => ({
  beganAtMs: 1000,
  drainMs: MINUTE,
  plan: planMoves(what, MINUTE, numbers()),
  nodes: names.map((name) => ({ url: `https://${name}.example`, region: name })),
  isEnding: false,
})

const momentsOf = ({ plan }: Drain): number[] => [...plan.publishersAtMs.values()]

describe('publishers', () => {
  test('move at even distances after the viewers over HLS, and leave their own viewers time to follow', () => {
    expect(momentsOf(drain({ publishers: ids(3), hasHlsViewers: true }))).toEqual([34_000, 42_000, 50_000])
  })

  test('have the whole time without viewers over HLS', () => {
    expect(momentsOf(drain({ publishers: ids(3), hasHlsViewers: false }))).toEqual([9_000, 27_000, 45_000])
  })

  test('move in an order of chance, each of them once', () => {
    const order = [...drain({ publishers: ids(50), hasHlsViewers: false }).plan.publishersAtMs.keys()]
    expect(order).not.toEqual(ids(50))
    expect(order.toSorted()).toEqual(ids(50).toSorted())
  })

  test('are due from their moment on; one that came too late for the plan is the last', () => {
    const all = drain({ publishers: ['only'], hasHlsViewers: true })
    const dueAt = (id: string, elapsedMs: number) => isPublisherDue(all, id, 1000 + elapsedMs)
    expect([dueAt('only', 41_999), dueAt('only', 42_000)]).toEqual([false, true])
    expect([dueAt('late', 53_999), dueAt('late', 54_000)]).toEqual([false, true])
  })

  test('all move at once in no time', () => {
    const none: Drain = { ...drain({ publishers: [], hasHlsViewers: true }), drainMs: 0 }
    const plan = planMoves({ publishers: ids(2), hasHlsViewers: true }, 0, numbers())
    expect(isPublisherDue({ ...none, plan }, 'p0', 1000)).toBe(true)
  })
})

describe('viewers over HLS', () => {
  const all = drain({ publishers: ids(1), hasHlsViewers: true })
  const hasMoved = (position: number, elapsedMs: number) => hlsNodeFor(all, position, null, 1000 + elapsedMs) !== null
  const positions = Array.from({ length: 1000 }, (_, at) => (at * 0.618_034) % 1)

  test('move evenly over the first half, and never back', () => {
    for (const seconds of [0, 3, 15, 27, 30, 59]) {
      const moved = positions.filter((position) => hasMoved(position, seconds * 1000)).length
      expect(Math.abs(moved - Math.min(1000, (1000 * seconds) / 30))).toBeLessThanOrEqual(10)
    }
  })

  test('go to all nodes in equal parts, also those who move in the same second', () => {
    const toFirst = (those: readonly number[]) =>
      those.filter((one) => hlsNodeFor(all, one, null, 40_000) === 'https://a.example').length / those.length
    expect(toFirst(positions)).toBeCloseTo(0.5, 1)
    expect(toFirst(positions.filter((one) => one < 0.1))).toBeCloseTo(0.5, 1)
  })

  test('stay where no other node has an address', () => {
    expect(hlsNodeFor({ ...all, nodes: [] }, 0, null, 100_000)).toBeNull()
  })

  test('go to nodes of the regions that show what they watch, and stay where there is none', () => {
    const nodesFor = (regions: readonly string[]) =>
      new Set(positions.map((position) => hlsNodeFor(all, position, regions, 100_000)))
    expect(nodesFor(['b', 'c'])).toEqual(new Set(['https://b.example']))
    expect(nodesFor(['c'])).toEqual(new Set([null]))
  })
})

test('viewers over WHEP follow their streams within two seconds, however many they are', () => {
  expect(followersAtOnce(8000, 250)).toBe(1000)
  expect(followersAtOnce(3, 250)).toBe(10)
})
