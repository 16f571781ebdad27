import { expect, test } from 'vitest'
import { CHANNEL_EVENTS } from '../../../src/core/channels/webhooks/events.ts'
import { EVERY_EVENT, healthOf, testsOf, withEvent } from '../../../web/dashboard/src/pages/webhooks/channelEvents.ts'

test('the form of a webhook offers every event that the server sends, and no other', () => {
  expect(EVERY_EVENT.toSorted()).toEqual([...CHANNEL_EVENTS].toSorted())
})

test('a test of a webhook begins with an event that it receives', () => {
  expect(testsOf(['scheduler.active', 'engine.error']).slice(0, 3)).toEqual([
    'engine.error',
    'scheduler.active',
    'channel.created',
  ])
  expect(testsOf(['*'])).toEqual(EVERY_EVENT)
  expect(testsOf([])).toHaveLength(CHANNEL_EVENTS.length)
})

test('a choice of events keeps their order, and holds each once', () => {
  const both = withEvent(['ingest.created'], 'channel.stopped', true)
  expect(both).toEqual(['channel.stopped', 'ingest.created'])
  expect(withEvent(both, 'ingest.created', true)).toEqual(both)
  expect(withEvent(both, 'channel.stopped', false)).toEqual(['ingest.created'])
})

test('the health of a webhook is that of its attempts; events that were skipped are none', () => {
  const states = (...all: string[]) => healthOf(all.map((state) => ({ state })))
  expect(states('delivered', 'failed', 'skipped', 'delivered')).toEqual({ kind: 'warn', delivered: 2, all: 3 })
  expect(states('delivered', 'skipped')).toEqual({ kind: 'ok', delivered: 1, all: 1 })
  expect(states('failed', 'unknown')).toEqual({ kind: 'error', delivered: 0, all: 2 })
  expect(states('skipped')).toBe(null)
})
