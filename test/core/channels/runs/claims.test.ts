import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CLAIM_MS,
  CLAIM_PAUSE_MS,
  claimingNode,
  type IngestClaim,
  judgeClaim,
} from '../../../../src/core/channels/runs/claims.ts'

const held = (over: Partial<IngestClaim> = {}): IngestClaim => ({
  node: 'b',
  connectedAtMs: 1000,
  heldMs: CLAIM_PAUSE_MS,
  remainingMs: CLAIM_MS,
  ...over,
})
const judge = (claim: IngestClaim | undefined, connectedAtMs = 2000, node = 'a') =>
  judgeClaim(claim, { node, connectedAtMs })

describe('a publisher', () => {
  test('claims an ingest that no node has, and one that an older publisher has', () => {
    expect(judge(undefined)).toBe('claim')
    expect(judge(held())).toBe('claim')
    expect(judge(held({ connectedAtMs: 9000, remainingMs: 0 }))).toBe('claim')
  })

  test('is cut when a newer one is at another node', () => {
    expect(judge(held({ connectedAtMs: 2001 }))).toBe('cut')
    expect(judge(held({ connectedAtMs: 2001, heldMs: 0 }))).toBe('cut')
    // Of two that connected in the same millisecond, one stays.
    expect(judge(held({ connectedAtMs: 2000 }))).toBe('cut')
  })

  test('waits while the claim has just come to another node, also when it was given up there', () => {
    for (const remainingMs of [CLAIM_MS, 0]) {
      expect(judge(held({ heldMs: CLAIM_PAUSE_MS - 1, remainingMs }))).toBe('wait')
      expect(judge(held({ heldMs: CLAIM_PAUSE_MS, remainingMs }))).toBe('claim')
    }
  })

  test('keeps its claim, and renews it when half of it is over or when the publisher is another one', () => {
    expect(judge(held(), 1000, 'b')).toBe('keep')
    expect(judge(held({ remainingMs: CLAIM_MS / 2 }), 1000, 'b')).toBe('claim')
    expect(judge(held({ heldMs: 0 }), 1001, 'b')).toBe('claim')
  })

  test('is kept out by no claim of a time that was set back', () => {
    const later = held({ connectedAtMs: 3_600_000, heldMs: -3_600_000, remainingMs: 3_600_000 + CLAIM_MS })
    expect([judge(later), claimingNode(later)]).toEqual(['claim', null])
  })
})

test('an expired claim names no node', () => {
  expect([claimingNode(undefined), claimingNode(held()), claimingNode(held({ remainingMs: 0 }))]).toEqual([
    null,
    'b',
    null,
  ])
})

/** A store with one ingest, and nodes with at most one publisher each, which look twice a second. */
class Cluster {
  nowMs = 0
  readonly publishers = new Map<string, number>()
  readonly passedAtMs: number[] = []
  #row: { node: string; connectedAtMs: number; sinceMs: number; untilMs: number } | undefined

  get claim(): IngestClaim | undefined {
    const { node, connectedAtMs, sinceMs, untilMs } = this.#row ?? {}
    if (node === undefined || connectedAtMs === undefined) return undefined
    return { node, connectedAtMs, heldMs: this.nowMs - (sinceMs ?? 0), remainingMs: (untilMs ?? 0) - this.nowMs }
  }

  look(node: string): void {
    const connectedAtMs = this.publishers.get(node)
    if (connectedAtMs === undefined) return
    const verdict = judgeClaim(this.claim, { node, connectedAtMs })
    if (verdict === 'cut') this.publishers.delete(node)
    if (verdict !== 'claim') return
    const passes = this.#row !== undefined && this.#row.node !== node
    if (passes) this.passedAtMs.push(this.nowMs)
    const sinceMs = passes ? this.nowMs : (this.#row?.sinceMs ?? Number.NEGATIVE_INFINITY)
    this.#row = { node, connectedAtMs, sinceMs, untilMs: this.nowMs + CLAIM_MS }
  }
}

test('whatever publishers do at whichever nodes, a claim passes rarely, and in the end the newest publisher has it', () => {
  const NODES = ['a', 'b', 'c']
  const step = fc.record({
    node: fc.constantFrom(...NODES),
    act: fc.constantFrom('connect', 'connect', 'leave', 'look'),
    waitMs: fc.integer({ min: 1, max: 400 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const cluster = new Cluster()
      let newest = ''
      for (const { node, act, waitMs } of steps) {
        cluster.nowMs += waitMs
        if (act === 'connect') cluster.publishers.set((newest = node), cluster.nowMs)
        if (act === 'leave') cluster.publishers.delete(node)
        cluster.look(node)
      }
      const isThere = cluster.publishers.has(newest)
      for (let looks = 0; looks < 60; looks += 1) {
        cluster.nowMs += 500
        for (const node of NODES) cluster.look(node)
      }
      const [left = null, ...more] = cluster.publishers.keys()
      expect([claimingNode(cluster.claim), more]).toEqual([left, []])
      if (isThere) expect(left).toBe(newest)
      const passed = cluster.passedAtMs
      for (const [n, atMs] of passed.entries()) {
        if (n > 0) expect(atMs - (passed[n - 1] ?? 0)).toBeGreaterThanOrEqual(CLAIM_PAUSE_MS)
      }
    }),
    { numRuns: 500 },
  )
})
