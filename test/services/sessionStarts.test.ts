import { expect, test } from 'vitest'
import { type SessionStart, SessionStarts } from '../../src/services/sessionStarts.ts'

const LIMITS = { max: 10_000, tokenShare: 0.9, maxViewersPerAddress: 2000, maxPublishersPerAddress: 200 }
const SECOND = 1000

/** How many of these begin of `count`, each `everyMs` after the one before. */
function begun(starts: SessionStarts, count: number, everyMs: number, startOf: (n: number) => SessionStart): number {
  let begun = 0
  for (let n = 0; n < count; n++) {
    const [start, nowMs] = [startOf(n), n * everyMs]
    if (!starts.allows(start, nowMs)) continue
    starts.note(start, nowMs)
    begun += 1
  }
  return begun
}

const publisher = (addressKey: string | null, holder: string | null = 'token 7'): SessionStart => ({
  action: 'publish',
  addressKey,
  holder,
})
const viewer = (addressKey: string | null): SessionStart => ({ action: 'view', addressKey, holder: null })

test('a publisher that connects again every second on a bad network begins each time, for as long as that lasts', () => {
  expect(begun(new SessionStarts(LIMITS), 5000, SECOND, () => publisher('192.0.2.7'))).toBe(5000)
})

test('a publisher in a loop gets two a second, and the others of its token, its address and its name are not concerned', () => {
  const starts = new SessionStarts(LIMITS)
  expect(begun(starts, 6000, 100, () => publisher('192.0.2.7'))).toBe(1200 + 1199)
  for (const other of [publisher('192.0.2.8'), publisher('192.0.2.7', 'token 8'), viewer('192.0.2.7')])
    expect(starts.allows(other, 600_000)).toBe(true)
  expect(starts.allows(publisher('192.0.2.7'), 600_000 + 500)).toBe(true)
})

test('a token that leaked to many addresses begins as often as twice its share of all slots', () => {
  const starts = new SessionStarts({ ...LIMITS, max: 1000 })
  expect(begun(starts, 3000, 0, (n) => publisher(`2001:db8:0:${n.toString(16)}::/64`))).toBe(1800)
  expect(starts.allows(publisher(null), 0)).toBe(false)
  expect(starts.allows(publisher('192.0.2.7', 'token 8'), 0)).toBe(true)
})

test('viewers of an address begin twice as often as it may have some at once, whatever they present', () => {
  expect(begun(new SessionStarts(LIMITS), 5000, 0, () => viewer('192.0.2.7'))).toBe(4000)
  expect(begun(new SessionStarts({ ...LIMITS, maxViewersPerAddress: 5 }), 5000, 0, () => viewer('192.0.2.7'))).toBe(100)
})

test('no limit by address counts no starts there, as behind a proxy that names no client', () => {
  const starts = new SessionStarts({ ...LIMITS, maxViewersPerAddress: 0, maxPublishersPerAddress: 0 })
  expect(begun(starts, 5000, 0, () => viewer('192.0.2.7'))).toBe(5000)
  expect(begun(starts, 5000, 0, () => viewer(null))).toBe(5000)
  expect(begun(starts, 5000, 0, () => publisher('192.0.2.7'))).toBe(5000)
  expect(begun(starts, 20_000, 0, () => publisher(null, null))).toBe(20_000)
})

test('a network of IPv6 begins as often as four of its addresses, however many it uses', () => {
  const starts = new SessionStarts(LIMITS)
  const ofNetwork = (network: number) => (n: number) => viewer(`2001:db8:${network}:${n.toString(16)}::/64`)
  expect(begun(starts, 30_000, 0, ofNetwork(1))).toBe(16_000)
  expect(begun(starts, 5, 0, ofNetwork(2))).toBe(5)
})
