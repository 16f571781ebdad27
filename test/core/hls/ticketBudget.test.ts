import { describe, expect, test } from 'vitest'
import { TicketBudget } from '../../../src/core/hls/ticketBudget.ts'

const PART_MS = 350

/** Players with one ticket, who each fetch every part once and reload once for it. The part at which it was refused. */
function refusedAt(players: number, parts: number): number | null {
  const budget = new TicketBudget()
  for (let n = 0; n < parts; n++)
    for (let player = 0; player < players; player++) {
      const nowMs = n * PART_MS + player
      const isFine = budget.reload('v0', PART_MS / 1000, nowMs) && budget.use('v0', `p${n}.m4s`, 1, nowMs)
      if (!isFine) return n
    }
  return null
}

test('one player is never refused, and ten with one ticket are within three parts', () => {
  expect(refusedAt(1, 1000)).toBeNull()
  expect(refusedAt(10, 1000)).toBeLessThan(3)
})

test('three players with one ticket are found by their reloads', () => {
  expect(refusedAt(3, 1000)).not.toBeNull()
})

test('a phone that changes its network every five seconds, and fetches again what was under way, is never refused', () => {
  const budget = new TicketBudget()
  const refused = Array.from({ length: 1000 }, (_, n) => {
    const nowMs = n * PART_MS
    const times = Math.floor(nowMs / 5000) === Math.floor((nowMs - PART_MS) / 5000) ? 1 : 2
    const fetched = Array.from({ length: times }, () => [
      budget.reload('v0', PART_MS / 1000, nowMs),
      budget.use('v0', `p${n}.m4s`, 1, nowMs),
      budget.use('v0', `s${Math.floor(n / 6)}.m4s`, 1 / 6, nowMs),
    ])
    return fetched.flat().includes(false)
  })
  expect(refused).not.toContain(true)
})

describe('a piece', () => {
  test('may be fetched three times, in each rendition, and again when the time is over', () => {
    const budget = new TicketBudget()
    const uses = (rendition: string, nowMs: number) =>
      Array.from({ length: 4 }, () => budget.use(rendition, 's1.m4s', 1, nowMs))
    expect(uses('v0', 0)).toEqual([true, true, true, false])
    expect(uses('v1', 1)).toEqual([true, true, true, false])
    expect(uses('v0', 15_000)).toEqual([false, false, false, false])
    expect(uses('v0', 60_000)).toEqual([true, true, true, false])
  })

  test('counts by the share of it that is sent', () => {
    const budget = new TicketBudget()
    const ranges = Array.from({ length: 13 }, () => budget.use('v0', 's1.m4s', 0.25, 0))
    expect(ranges).toEqual([...Array.from({ length: 12 }, () => true), false])
  })
})

const TARGET_SECONDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15]

test.each(TARGET_SECONDS)('a player without parts may reload twice in a target duration of %i s', (seconds) => {
  const budget = new TicketBudget()
  const reloads = Array.from({ length: 200 }, (_, n) => budget.reload('v0', seconds, n * seconds * 500))
  expect(reloads).not.toContain(false)
})

test('a player may load a playlist three times at once, however long its segments are', () => {
  const budget = new TicketBudget()
  expect([1, 2, 3, 4].map(() => budget.reload('v0', 60, 0))).toEqual([true, true, true, false])
})

test('a player with parts may reload the last playlist, which has none', () => {
  for (const seconds of [9, 19, 60]) {
    const budget = new TicketBudget()
    const reloads = Array.from({ length: (seconds * 1000) / PART_MS }, (_, n) =>
      budget.reload('v0', PART_MS / 1000, n * PART_MS),
    )
    const last = [1, 2, 3].map((n) => budget.reload('v0', 2, seconds * 1000 + n))
    expect([...reloads, ...last]).not.toContain(false)
  }
})

test('who requests everything at once is no player: the counts have a bound', () => {
  const budget = new TicketBudget()
  const uses = Array.from({ length: 2000 }, (_, n) => budget.use('v0', `s${n}.m4s`, 1, 0))
  expect(uses.filter(Boolean)).toHaveLength(1024)
})

test('behind a cache a third address within seconds is found, and a phone that changes its address is not', () => {
  const [shared, phone] = [new TicketBudget(), new TicketBudget()]
  expect(['a', 'b', 'a', 'c', 'b'].map((address) => shared.seen(address, 0))).toEqual([true, true, true, false, true])
  const seconds = Array.from({ length: 600 }, (_, second) => phone.seen(`${Math.floor(second / 5)}`, second * 1000))
  expect(seconds).not.toContain(false)
})
