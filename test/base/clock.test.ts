import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'

test('a sleep by hand ends with its signal, also with one that was aborted before', async () => {
  const clock = new ManualClock()
  const over = new AbortController()
  const asleep = clock.sleep(10, over.signal)
  over.abort(new Error('over'))
  await expect(asleep).rejects.toThrow('over')
  await expect(clock.sleep(10, over.signal)).rejects.toThrow('over')
})

test('a sleeper that was woken no longer listens to its signal', async () => {
  const clock = new ManualClock()
  const { signal } = new AbortController()
  const asleep = clock.sleep(10, signal)
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  clock.advance(10)
  await asleep
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
