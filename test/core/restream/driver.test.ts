import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { type AttemptEvent, type DialAttempt, TargetDriver } from '../../../src/core/restream/driver.ts'

interface Dialled extends DialAttempt {
  readonly at: string | null
  readonly report: (event: AttemptEvent) => void
  ended: number
}

test('a target has one attempt at a time, which is closed when it is hung up, and hears of no other', () => {
  const clock = new ManualClock()
  const dialled: Dialled[] = []
  const states: string[] = []
  const driver = new TargetDriver<Dialled>({
    clock,
    random: { bytes: (n) => Buffer.alloc(n) },
    pauseMaxMs: 30_000,
    open: (report, at) => {
      const attempt = { at, report, ended: 0, tick: () => undefined, end: () => void (attempt.ended += 1) }
      dialled.push(attempt)
      return attempt
    },
    recorded: ({ status }) => void states.push(status),
  })
  driver.handle({ kind: 'start' })
  expect([dialled.length, driver.attempt]).toEqual([1, dialled[0]])
  dialled[0]?.report({ kind: 'accepted' })
  expect(driver.state.status).toBe('live')
  driver.handle({ kind: 'stop' })
  expect([dialled[0]?.ended, driver.attempt, driver.state.status]).toEqual([1, null, 'off'])
  driver.handle({ kind: 'start' })
  dialled[0]?.report({ kind: 'accepted' })
  expect([dialled.length, driver.state.status]).toEqual([2, 'connecting'])
  expect(states).toEqual(['connecting', 'live', 'off', 'connecting'])
})
