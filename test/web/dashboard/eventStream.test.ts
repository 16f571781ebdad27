import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { followLive, updates } from '../../../web/dashboard/src/live.ts'

/** An event stream that the server refuses at once. */
class RefusedStream extends EventTarget {
  static readonly CLOSED = 2
  readonly readyState = RefusedStream.CLOSED
  constructor() {
    super()
    queueMicrotask(() => this.dispatchEvent(new Event('error')))
  }
  close() {}
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', RefusedStream)
  const page = { baseURI: 'https://live.test/dashboard/', visibilityState: 'visible' }
  vi.stubGlobal('document', Object.assign(new EventTarget(), page))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a page whose event stream is refused asks again and again, and keeps nothing of those before', async () => {
  const signals: AbortSignal[] = []
  vi.stubGlobal('fetch', async (_url: string, { signal }: RequestInit) => {
    signals.push(signal ?? expect.fail())
    return Response.json({ data: [] })
  })
  const stop = followLive()
  const listeners: number[] = []
  for (let round = 0; round < 3; round += 1) {
    await vi.advanceTimersByTimeAsync(4000)
    listeners.push(getEventListeners(signals[0] ?? expect.fail(), 'abort').length)
  }
  expect(updates.value).toBe('polling')
  expect([signals.length, new Set(signals).size]).toEqual([8, 1])
  expect(listeners).toEqual([0, 0, 0])
  stop()
})
