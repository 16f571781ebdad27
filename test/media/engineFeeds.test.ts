import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { Hub } from '../../src/media/hub.ts'
import { engineFeeds } from '../../src/media/engineFeeds.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

const silentLog = createLogger({ level: 'error', format: 'json' })
const feed = { sessionId: 's', room: 'a/b', sourceId: null }

function shown() {
  const engine = new ScriptedEngine()
  const hub = new Hub()
  let stops = 0
  const media = { subscribe: hub.subscribe.bind(hub), announce: () => () => undefined }
  const original = { ...media }
  const convert = () => ({ media, original, stop: async () => void stops++ })
  const clock = new ManualClock()
  engineFeeds({ engine, convert, clock, log: silentLog })(feed, hub)
  const died = (sessionId: string) => engine.emit({ kind: 'ended', sessionId, reason: 'engine_died' })
  return { engine, hub, clock, died, stops: () => stops, media, original }
}

test('a feed is offered in two forms under ids of its own, and again after its engine process died', () => {
  const { engine, died, media, original } = shown()
  const forms = [
    { sessionId: 'original-s', preferredTo: 'feed-s', source: original },
    { sessionId: 'feed-s', preferredTo: null, source: media },
  ].map((form) => ({ ...form, room: 'a/b', sourceId: null, priority: null }))
  expect(engine.feeds).toEqual(forms)
  died('another')
  expect(engine.feeds).toHaveLength(2)
  died('feed-s')
  died('original-s')
  expect(engine.feeds.slice(2)).toEqual(forms.toReversed())
})

test('when its media ends, the conversion stops and the feed is not offered again', () => {
  const { engine, hub, died, stops } = shown()
  hub.end()
  expect([stops(), engine.ended]).toEqual([1, ['original-s', 'feed-s']])
  died('feed-s')
  expect(engine.feeds).toHaveLength(2)
})

test('an engine that refuses a feed gets it again until the media ends', async () => {
  const { engine, hub, clock, died } = shown()
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  let refused = 0
  engine.feed = () => Promise.reject(new Error(`not now ${++refused}`))
  died('feed-s')
  await turn()
  expect(refused).toBe(1)
  clock.advance(2000)
  await turn()
  expect(refused).toBe(2)
  hub.end()
  clock.advance(2000)
  await turn()
  expect(refused).toBe(2)
})
