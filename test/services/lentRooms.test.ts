import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { LentRooms } from '../../src/services/lentRooms.ts'

/** As many requests are remembered. */
const MOST = 40_000

test('a request stays used while the clock is set ahead and back, also when it had to be forgotten', () => {
  const clock = new ManualClock()
  const rooms = new LentRooms(clock)
  const untilMs = clock.now() + 30_000
  expect(rooms.useNonce('first', untilMs)).toBe('fresh')
  clock.setWall(60_000)
  expect(rooms.useNonce('ahead', untilMs + 60_000)).toBe('fresh')
  clock.setWall(-60_000)
  expect(rooms.useNonce('first', untilMs)).toBe('used')
  for (let at = 2; at < MOST; at += 1) rooms.useNonce(String(at), untilMs)
  expect(rooms.useNonce('too many', untilMs)).toBe('busy')
  clock.setWall(60_000)
  expect(rooms.useNonce('room again', untilMs + 60_000)).toBe('fresh')
  clock.setWall(-60_000)
  expect([rooms.useNonce('first', untilMs), rooms.useNonce('later', untilMs + 1)]).toEqual(['used', 'fresh'])
})
