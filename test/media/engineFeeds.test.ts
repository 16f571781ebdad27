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
  const convert = () => ({ media, stop: async () => void stops++ })
  const clock = new ManualClock()
  engineFeeds({ engine, convert, clock, log: silentLog })(feed, hub)
  const died = (sessionId: string) => engine.emit({ kind: 'ended', sessionId, reason: 'engine_died' })
  return { engine, hub, clock, died, stops: () => stops }
}

test('a feed is offered under an id of its own, and again after its engine process died', () => {
  const { engine, died } = shown()
  expect(engine.feeds).toMatchObject([{ sessionId: 'feed-s', room: 'a/b', sourceId: null }])
  died('another')
  expect(engine.feeds).toHaveLength(1)
  died('feed-s')
  expect(engine.feeds).toHaveLength(2)
})

test('when its media ends, the conversion stops and the feed is not offered again', () => {
  const { engine, hub, died, stops } = shown()
  hub.end()
  expect([stops(), engine.ended]).toEqual([1, ['feed-s']])
  died('feed-s')
  expect(engine.feeds).toHaveLength(1)
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
