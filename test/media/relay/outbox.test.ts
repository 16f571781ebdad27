import { setImmediate as turnOver } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { MediaEngineEvent } from '../../../src/media/engine.ts'
import type { FromRelay } from '../../../src/media/relay/processes/messages.ts'
import { Outbox } from '../../../src/media/relay/processes/outbox.ts'

const ended = (sessionId: string): MediaEngineEvent => ({ kind: 'ended', sessionId, reason: 'left' })
const END = { kind: 'end', sessionId: 's' } as const

function opened() {
  const sent: FromRelay[] = []
  return { sent, outbox: new Outbox((message) => sent.push(message)) }
}

test('what waits for the main process leaves after the packets for viewers, which leave in a microtask', async () => {
  const { outbox, sent } = opened()
  outbox.post(END)
  await Promise.resolve()
  expect(sent).toEqual([])
  await turnOver()
  expect(sent).toEqual([END])
})

test('messages keep their order, and events between two of them are one', async () => {
  const { outbox, sent } = opened()
  outbox.emit(ended('a'))
  outbox.emit(ended('b'))
  outbox.post(END)
  outbox.emit(ended('c'))
  await turnOver()
  const [a, b, c] = ['a', 'b', 'c'].map(ended)
  expect(sent).toEqual([{ kind: 'events', events: [a, b] }, END, { kind: 'events', events: [c] }])
  outbox.emit(ended('d'))
  await turnOver()
  expect(sent).toHaveLength(4)
})
