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
  class Noted extends AbortController {
    constructor() {
      super()
      signals.push(this.signal)
    }
  }
  vi.stubGlobal('AbortController', Noted)
  const fetched = vi.fn(async () => Response.json({ data: [] }))
  vi.stubGlobal('fetch', fetched)
  const stop = followLive()
  const listeners: number[] = []
  for (let round = 0; round < 3; round += 1) {
    await vi.advanceTimersByTimeAsync(4000)
    listeners.push(getEventListeners(signals[0] ?? expect.fail(), 'abort').length)
  }
  expect(updates.value).toBe('polling')
  expect(fetched).toHaveBeenCalledTimes(8)
  expect(listeners).toEqual([0, 0, 0])
  stop()
})

test('a page whose event stream does not begin, as behind a proxy that holds answers back, asks instead', async () => {
  class SilentStream extends EventTarget {
    static readonly CLOSED = 2
    readonly close = closed
  }
  const closed = vi.fn()
  vi.stubGlobal('EventSource', SilentStream)
  vi.stubGlobal('fetch', async () => Response.json({ data: [] }))
  updates.value = 'connecting'
  const stop = followLive()
  await vi.advanceTimersByTimeAsync(9999)
  expect(updates.value).toBe('connecting')
  await vi.advanceTimersByTimeAsync(100)
  expect([updates.value, closed.mock.calls.length]).toEqual(['polling', 1])
  stop()
})
