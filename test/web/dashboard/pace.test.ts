import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { paced } from '../../../web/dashboard/src/pace.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('what is asked for often is done at once, and then once in each period', () => {
  const action = vi.fn()
  const pace = paced(action, 3000)
  pace.ask()
  expect(action).toHaveBeenCalledTimes(1)
  for (let asked = 0; asked < 5; asked += 1) pace.ask()
  vi.advanceTimersByTime(2999)
  expect(action).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(1)
  expect(action).toHaveBeenCalledTimes(2)
  vi.advanceTimersByTime(60_000)
  expect(action).toHaveBeenCalledTimes(2)
  pace.ask()
  expect(action).toHaveBeenCalledTimes(3)
})

test('out of view nothing is done, and what was asked for is done once when the page is in view again', () => {
  const action = vi.fn()
  const pace = paced(action, 3000)
  pace.show(false)
  pace.ask()
  pace.ask()
  vi.advanceTimersByTime(60_000)
  expect(action).not.toHaveBeenCalled()
  pace.show(true)
  expect(action).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(3000)
  pace.show(false)
  pace.show(true)
  expect(action).toHaveBeenCalledTimes(1)
})

test('after its end it does nothing', () => {
  const action = vi.fn()
  const pace = paced(action, 3000)
  pace.ask()
  pace.ask()
  pace.stop()
  pace.ask()
  vi.advanceTimersByTime(60_000)
  expect(action).toHaveBeenCalledTimes(1)
  expect(vi.getTimerCount()).toBe(0)
})
