import { afterAll, beforeAll, expect, test } from 'vitest'
import { followEngine } from '../../src/commands/sessions/mediaEngineEvents.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { admit, eventsOf, type TestNode, makeToken, startTestNode, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

let at: TestNode
let presented: string
const engine = new ScriptedEngine()

beforeAll(async () => {
  at = await startTestNode()
  presented = (await makeToken(at, 'publish')).token
  await at.call('POST', '/api/webhooks', { url: 'https://hooks.example.com/', isFeedHooks: true })
  followEngine(at.ctx, engine)
})
afterAll(() => at.close())

const publisher = async (streamName: string) => (await admit(at, { presented, streamName })).session.id
const connected = (sessionId: string) => engine.emit({ kind: 'connected', sessionId, address: '192.0.2.1' })
const onAir = (name: string) => at.ctx.sessions.feeds.onAir(at.accountId, name) !== undefined

test('a publisher is on the air when its transport is connected, and off when it ends', async () => {
  const sessionId = await publisher('one')
  expect(onAir('one')).toBe(false)
  connected(sessionId)
  await until(() => onAir('one'))
  engine.emit({ kind: 'ended', sessionId, reason: 'lost' })
  await until(() => !at.ctx.sessions.has(sessionId) && at.ctx.sessions.leaving.size === 0)
  expect(onAir('one')).toBe(false)
})

test('a publisher that leaves at once was on the air first: one event each, in this order', async () => {
  const sessionId = await publisher('brief')
  connected(sessionId)
  engine.emit({ kind: 'ended', sessionId, reason: 'left' })
  const emitted = async () =>
    (await eventsOf(at)).filter(({ data }) => data['name'] === 'brief').map(({ name }) => name)
  await until(async () => (await emitted()).length === 2)
  expect(await emitted()).toEqual(['feeds started', 'feeds ended'])
})

test('bytes are counted, and a connected viewer is not a feed', async () => {
  const sessionId = await publisher('seen')
  connected(sessionId)
  await until(() => onAir('seen'))
  const viewer = (await view(at, { streamName: 'seen' })).session.id
  connected(viewer)
  engine.emit({ kind: 'bytes', sessionId: viewer, bytesIn: 10, bytesOut: 2000, silentMs: 0 })
  expect(at.ctx.sessions.get(viewer)?.bytes).toEqual({ bytesIn: 10, bytesOut: 2000 })
  expect(at.ctx.sessions.feeds.ofStream(at.accountId, 'seen')).toHaveLength(1)
})

test('a feed that cannot be recorded in the store is not on the air, and its session ends', async () => {
  const sessionId = await publisher('unlucky')
  const other = new ScriptedEngine()
  const store = { ...at.ctx.store, transaction: () => Promise.reject(new StoreUnavailable('gone')) }
  followEngine({ ...at.ctx, store }, other)
  other.emit({ kind: 'connected', sessionId, address: '192.0.2.1' })
  await until(() => other.ended.includes(sessionId))
  expect(onAir('unlucky')).toBe(false)
})
