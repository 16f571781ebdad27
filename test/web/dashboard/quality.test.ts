import { expect, it } from 'vitest'
import { failuresOf, stalledShare, stallsPerHour } from '../../../web/dashboard/src/pages/analytics/qualityFigures.ts'

it('says how much of the time stood still, and how often in an hour', () => {
  const played = { playedSeconds: 1800, stalls: 3, stalledSeconds: 200 }
  expect([stalledShare(played), stallsPerHour(played)]).toEqual([0.1, 6])
  const nothing = { playedSeconds: 0, stalls: 0, stalledSeconds: 0 }
  expect([stalledShare(nothing), stallsPerHour(nothing)]).toEqual([null, null])
})

it('adds up failures', () => {
  expect([failuresOf({}), failuresOf({ left: 2, not_connected: 3 })]).toEqual([0, 5])
})
