import { expect, it } from 'vitest'
import { atOnce } from '../../support/atOnce.ts'
import { type PublishedFeed, publishRows } from '../../../src/core/audience/watched.ts'

const HOUR_MS = 3_600_000
const feed = (startedAtMs: number, endedAtMs: number | null, country = 'AT'): PublishedFeed => ({
  streamName: 'show',
  country,
  startedAtMs,
  endedAtMs,
})
const rowsOf = (feeds: readonly PublishedFeed[], slotMs: number, nowMs = 100 * HOUR_MS) =>
  atOnce(publishRows(feeds, { fromMs: HOUR_MS, untilMs: 4 * HOUR_MS, slotMs }, nowMs)).map(
    ({ slotMs: atMs, country, watched }) => [
      atMs / HOUR_MS,
      country,
      watched?.publishes,
      (watched?.publishMs ?? 0) / HOUR_MS,
    ],
  )

it('a broadcast counts where it began, and its length is divided among the slots', () => {
  expect(rowsOf([feed(1.5 * HOUR_MS, 3.25 * HOUR_MS)], HOUR_MS)).toEqual([
    [1, 'AT', 1, 0.5],
    [2, 'AT', 0, 1],
    [3, 'AT', 0, 0.25],
  ])
})

it('what was before or after the report is left out, and one that lasts ends now', () => {
  expect(rowsOf([feed(0, 9 * HOUR_MS), feed(0, HOUR_MS)], 3 * HOUR_MS)).toEqual([[1, 'AT', 0, 3]])
  expect(rowsOf([feed(2 * HOUR_MS, null, '')], 3 * HOUR_MS, 2.5 * HOUR_MS)).toEqual([[1, '', 1, 0.5]])
  expect(rowsOf([feed(2 * HOUR_MS, null)], HOUR_MS, 2 * HOUR_MS)).toEqual([[2, 'AT', 1, 0]])
})

it('broadcasts of one country are one sum in each slot', () => {
  const feeds = [feed(HOUR_MS, 2 * HOUR_MS), feed(HOUR_MS, 2 * HOUR_MS), feed(HOUR_MS, 2 * HOUR_MS, 'NZ')]
  expect(rowsOf(feeds, HOUR_MS)).toEqual([
    [1, 'AT', 2, 2],
    [1, 'NZ', 1, 1],
  ])
})
