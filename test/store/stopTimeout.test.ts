import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StopTimeout } from '../../src/store/stopTimeout.ts'

let stopTimeout: StopTimeout
beforeEach(() => {
  vi.useFakeTimers()
  stopTimeout = new StopTimeout()
})
afterEach(() => void vi.useRealTimers())

const isGivenUp = () => stopTimeout.givenUp.aborted

test('while a process serves, it waits for its database server', () => {
  stopTimeout.wait()
  vi.advanceTimersByTime(60_000)
  expect(isGivenUp()).toBe(false)
})

test('once it stops, a server that answers nothing is given up four seconds later, whenever the wait began', () => {
  stopTimeout.wait()
  vi.advanceTimersByTime(60_000)
  stopTimeout.begin()
  stopTimeout.wait()(false)
  vi.advanceTimersByTime(3_999)
  expect(isGivenUp()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(isGivenUp()).toBe(true)
})

test('a pause of the process gives up no server, whose answer may have come meanwhile', () => {
  stopTimeout.begin()
  stopTimeout.wait()
  // After a pause of any length each timer is due once, before what waits in sockets is read.
  vi.advanceTimersToNextTimer()
  expect(isGivenUp()).toBe(false)
})

test('a server that answers others is given up ten seconds after the stop, and one that answers all never', () => {
  stopTimeout.begin()
  const slow = stopTimeout.wait()
  for (let answers = 0; answers < 20; answers += 1) {
    vi.advanceTimersByTime(499)
    stopTimeout.wait()(true)
  }
  expect(isGivenUp()).toBe(false)
  slow(true)
  vi.advanceTimersByTime(60_000)
  expect(isGivenUp()).toBe(false)
  stopTimeout.wait()
  vi.advanceTimersByTime(1_000)
  stopTimeout.wait()(true)
  vi.advanceTimersByTime(8_999)
  expect(isGivenUp()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(isGivenUp()).toBe(true)
})
