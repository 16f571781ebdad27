import { expect, it } from 'vitest'
import { StaleStreams, STREAMS_AT_ONCE } from '../../src/media/staleStreams.ts'

const stream = (streamName: string) => ({ accountId: 'a', streamName })

it('has all streams at first, then those that changed, each once', () => {
  const stale = new StaleStreams()
  stale.add(stream('early'))
  expect([stale.take(), stale.take()]).toEqual([null, []])
  for (const name of ['one', 'two', 'one']) stale.add(stream(name))
  expect([stale.take(), stale.take()]).toEqual([[stream('one'), stream('two')], []])
})

it('counts the reads of streams, and not those of none', () => {
  const stale = new StaleStreams()
  stale.take()
  stale.take()
  expect(stale.reads).toBe(1)
  stale.add(stream('one'))
  stale.take()
  expect(stale.reads).toBe(2)
})

it('has all of them when many have changed, or after a reset', () => {
  const stale = new StaleStreams()
  stale.take()
  for (let n = 0; n < STREAMS_AT_ONCE; n++) stale.add(stream(`s${n}`))
  expect(stale.take()).toHaveLength(STREAMS_AT_ONCE)
  for (let n = 0; n <= STREAMS_AT_ONCE; n++) stale.add(stream(`s${n}`))
  expect([stale.take(), stale.take()]).toEqual([null, []])
  stale.add(stream('one'))
  stale.addAll()
  expect(stale.take()).toBeNull()
})
