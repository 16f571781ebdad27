import { expect, it } from 'vitest'
import type { Session } from '../../src/core/sessions/types.ts'
import { UsageCounts } from '../../src/media/usageCounts.ts'
import { newSession } from '../conformance/store.samples.ts'

const ALL = Number.POSITIVE_INFINITY
const HOUR_MS = 3_600_000

const sessions = (count: number, over: (n: number) => Partial<Session> = () => ({})): Session[] =>
  Array.from({ length: count }, (_, n) => newSession({ id: `s${n}`, ...over(n) }))

function counting(...all: Session[]): UsageCounts {
  const counts = new UsageCounts()
  for (const one of all) counts.change(one, 1)
  for (const one of all) counts.moved(one, 1, 10, 0)
  return counts
}

/** Writes as the store does; returns the bytes to viewers of each row. */
const write = (counts: UsageCounts, everyMs: number, nowMs = 0): number[] =>
  counts.due(nowMs, everyMs).risen.map((row) => {
    const { usage, written } = row.toWrite()
    written()
    return usage.bytesOut
  })

it('sessions with the same key share a row, others have rows of their own, previews have none', () => {
  const [one, two] = [sessions(2), sessions(1, () => ({ trackingId: 'x' }))]
  const counts = counting(...one, ...two, ...sessions(1, () => ({ action: 'preview' })))
  expect(write(counts, ALL)).toEqual([20, 10])
  expect(write(counts, ALL)).toEqual([])
})

it('rows of single sessions take turns within a minute, shared ones within ten seconds', () => {
  const single = sessions(6000, (n) => ({ trackingId: `t${n}` }))
  const shared = sessions(4000, (n) => ({ trackingId: `u${n % 2000}` }))
  const counts = counting(...single, ...shared)
  const round = write(counts, 1000)
  expect([round.filter((bytes) => bytes === 10).length, round.filter((bytes) => bytes === 20).length]).toEqual([
    100, 200,
  ])
})

it('a row that is closed keeps its bytes, and the next one of its key begins at nothing', () => {
  const [session] = sessions(1) as [Session]
  const counts = counting(session)
  counts.moved(session, 0, 5, HOUR_MS)
  expect(write(counts, ALL, HOUR_MS).toSorted((a, b) => a - b)).toEqual([5, 10])
  const { over } = counts.due(HOUR_MS, ALL)
  expect(over.map(({ hourMs }) => hourMs)).toEqual([0])
  counts.forget(over)
  expect(counts.due(HOUR_MS, ALL)).toEqual({ risen: [], over: [] })
})

it('thousands of rows that are closed at once are all written and added, in equal rounds', () => {
  const all = sessions(6000, (n) => ({ trackingId: `t${n}` }))
  const counts = counting(...all)
  for (const one of all) counts.change(one, -1)
  let added = 0
  // Rounds get smaller with what is left.
  for (let second = 0; second < 200; second++) {
    const { risen, over } = counts.due(0, 1000)
    for (const row of risen) row.toWrite().written()
    counts.forget(over)
    added += over.length
    expect(risen.length + over.length).toBeLessThanOrEqual(200)
  }
  expect([added, counts.due(0, ALL)]).toEqual([6000, { risen: [], over: [] }])
})

it('a key whose sessions come and go keeps its turn among many', () => {
  const many = sessions(6000, (n) => ({ trackingId: `t${n}` }))
  const [first, second] = sessions(2) as [Session, Session]
  const counts = counting(...many, first)
  let written = 0
  for (let round = 0; round < 20; round++) {
    counts.change(second, round % 2 === 0 ? 1 : -1)
    counts.moved(first, 0, 1, 0)
    written += write(counts, 1000).filter((bytes) => bytes !== 10).length
  }
  expect(written).toBe(20)
})

it('nothing that was counted under one id of the node is written under the next', () => {
  const [session] = sessions(1) as [Session]
  const counts = counting(session)
  counts.moved(session, 0, 5, HOUR_MS)
  counts.restart()
  expect(counts.due(HOUR_MS, ALL)).toEqual({ risen: [], over: [] })
  counts.moved(session, 0, 7, HOUR_MS)
  expect(write(counts, ALL, HOUR_MS)).toEqual([7])
})
