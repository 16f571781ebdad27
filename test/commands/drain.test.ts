import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { NodeDrain } from '../../src/commands/nodes/nodeDrain.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { refreshRemoteFeeds } from '../../src/commands/sessions/revoke.ts'
import type { Drain, Move } from '../../src/core/nodes/drain.ts'
import { PushedKeys } from '../../src/services/pushedKeys.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { attemptOf, makeToken, publish, startTestNode, type TestNode, tryToView, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let clock: ManualClock
let other: TestNode
let at: TestNode
let drain: NodeDrain
let pushed: PushedKeys
let isOver: boolean

beforeAll(async () => {
  clock = new ManualClock()
  other = await startTestNode({ clock, hostKey: 'other' })
})
afterAll(() => other.close())
beforeEach(async () => {
  at = await startTestNode({ url: other.url, clock })
  isOver = false
  pushed = new PushedKeys(at.ctx)
  drain = new NodeDrain(at.ctx, { drainMs: () => 60_000, pushed })
  void drain.over.then(() => (isOver = true))
})
afterEach(async () => {
  await drain.stop()
  await at.close()
})

/** Time for what waits for the clock. */
async function passes(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    await new Promise(setImmediate)
    clock.advance(250)
  }
  await new Promise(setImmediate)
}

const BUSY = { ok: false, status: 503, code: 'draining', retryAfterSeconds: 1 }

test('a node that drains takes no publisher and no viewer, and sends viewers of other feeds to their node', async () => {
  const { token } = await makeToken(at, 'publish')
  const publisher = await publish(at, { presented: token })
  await publish(other, { presented: token, streamName: 'there' })
  await refreshRemoteFeeds(at.ctx)
  await drain.begin()
  expect(
    await admitPublisher(at.ctx, attemptOf({ presented: token }), { sourceId: null, cut: async () => {} }),
  ).toEqual(expect.objectContaining(BUSY))
  expect(await tryToView(at)).toMatchObject(BUSY)
  expect(await tryToView(at, { streamName: 'nowhere' })).toMatchObject(BUSY)
  // Its node has no URL.
  expect(await tryToView(at, { streamName: 'there' })).toMatchObject({ status: 409, code: 'at_another_node' })
  expect(publisher.cuts).toEqual([])
})

test('a viewer without access is refused as ever, and learns nothing of what is on the air', async () => {
  const { token } = await makeToken(at, 'publish', { subscribeRequiresAuth: true })
  await publish(at, { presented: token })
  await drain.begin()
  expect(await tryToView(at)).toMatchObject({ status: 401 })
})

test('it has drained when its last session has left, and players have learned where the stream goes on', async () => {
  const { token } = await makeToken(at, 'publish')
  const publisher = await publish(at, { presented: token })
  await drain.begin()
  await passes(1000)
  expect(isOver).toBe(false)
  await closeSession(at.ctx, publisher.session.id, 'left')
  await passes(2500)
  expect(isOver).toBe(false)
  await passes(750)
  await until(() => isOver)
})

test('publishers move in the middle of their shares of the time, and their viewers follow when a new node has them', async () => {
  const { token } = await makeToken(at, 'publish')
  const first = await publish(at, { presented: token })
  const viewers = [await view(at), await view(at)]
  await drain.begin()
  await passes(26_000)
  expect(first.cuts).toEqual([])
  await passes(1500)
  await until(() => first.cuts.length > 0)
  expect(first.cuts).toEqual(['moved'])
  await passes(1000)
  expect(viewers.flatMap(({ cuts }) => cuts)).toEqual([])
  expect(at.ctx.sessions.drain).toMatchObject({ isEnding: false })
  await publish(other, { presented: token })
  await refreshRemoteFeeds(at.ctx)
  clock.advance(250)
  await until(() => viewers.every(({ cuts }) => cuts.length > 0))
  expect(viewers.map(({ cuts }) => cuts)).toEqual([['moved'], ['moved']])
  expect((await at.ctx.store.read.sessions.get(first.session.id))?.endReason).toBe('moved')
  await passes(500)
  expect([at.ctx.sessions.drain, isOver]).toMatchObject([{ isEnding: true }, false])
  await passes(4000)
  await until(() => isOver)
})

test('a publisher is asked once to go on at another node, some seconds before it is cut', async () => {
  const { token } = await makeToken(at, 'publish')
  const seen: unknown[] = []
  const sessionRequest = {
    sourceId: null,
    cut: async () => void seen.push('cut'),
    askToMove: (move: Move) => void seen.push(move),
  }
  await admitPublisher(at.ctx, attemptOf({ presented: token }), sessionRequest)
  const { nodes } = at.ctx.store.read
  const withUrls = (await nodes.list()).map((node) => ({ ...node, url: `https://${node.id}.example.com` }))
  const list = vi.spyOn(nodes, 'list').mockImplementation(async () => withUrls)
  await drain.begin()
  await passes(21_000)
  expect(seen).toEqual([])
  const isAsked = () => at.ctx.sessions.all().map(({ standing }) => standing?.isAskedToMove)
  expect(isAsked()).toEqual([false])
  await passes(1500)
  expect(seen).toEqual([{ from: addressOf(at), to: [addressOf(other)] }])
  expect(isAsked()).toEqual([true])
  await passes(6000)
  await until(() => seen.length > 1)
  expect(seen.slice(1)).toEqual(['cut'])
  list.mockRestore()
})

const addressOf = ({ ctx }: TestNode) => ({
  url: `https://${ctx.sessions.node}.example.com`,
  rtmpPort: 1935,
  rtmpsPort: 0,
})

test('publishers of channels are asked and cut like those of streams, with their share of the time', async () => {
  const { token } = await makeToken(at, 'publish')
  const publisher = await publish(at, { presented: token })
  const seen: unknown[] = []
  const forget = pushed.add({
    ingestId: 'in_1',
    connectedAtMs: clock.now(),
    rules: { keyHash: Buffer.alloc(32), type: 'rtmp-push', audio: [] },
    cut: async (why) => void seen.push(why),
    askToMove: (move) => void seen.push(move),
  })
  await drain.begin()
  const { publishersAtMs } = at.ctx.sessions.drain?.plan ?? {}
  expect([...(publishersAtMs?.keys() ?? [])].toSorted()).toEqual([publisher.session.id, 'in_1'].toSorted())
  const dueMs = publishersAtMs?.get('in_1') ?? 0
  await passes(dueMs - 5500)
  expect(seen).toEqual([])
  await passes(1000)
  // No node has an address here.
  expect(seen).toEqual([{ from: null, to: [] }])
  await passes(5000)
  expect(seen.slice(1)).toEqual(['This server is about to stop; connect again'])
  forget()
  await closeSession(at.ctx, publisher.session.id, 'left')
  await passes(4000)
  await until(() => isOver)
})

test('it has drained when its time is up, with sessions left', async () => {
  const { token } = await makeToken(at, 'publish')
  await publish(at, { presented: token, streamName: 'alone' })
  await view(at, { streamName: 'alone' })
  await drain.begin()
  await passes(59_000)
  // The publisher came back nowhere.
  expect(isOver).toBe(false)
  clock.advance(1000)
  await until(() => isOver)
})

test('it knows where players go before it says that it drains, and waits a second for that, if the store answers', async () => {
  const { nodes } = at.ctx.store.read
  const withUrls = (await nodes.list()).map((node) => ({ ...node, url: `https://${node.id}.example.com` }))
  const list = vi.spyOn(nodes, 'list')
  const begun = async (passedMs: number) => {
    at.ctx.sessions.drain = null
    const another = new NodeDrain(at.ctx, { drainMs: () => 60_000, pushed })
    const done = another.begin()
    clock.advance(passedMs)
    await done
    const found = at.ctx.sessions.drain as Drain | null
    await another.stop()
    return found?.nodes
  }
  const urlOf = ({ ctx }: TestNode) => ({ url: `https://${ctx.sessions.node}.example.com`, region: '' })
  list.mockResolvedValueOnce(withUrls)
  expect(await begun(0)).toEqual([urlOf(other)])
  // A full one only if there is no other.
  const { store, sessions } = other.ctx
  await store.transaction((tx) => tx.nodes.setLoad(sessions.node, { ...NODE_FACTS, full: ['media'] }))
  list.mockResolvedValueOnce(withUrls)
  expect(await begun(0)).toEqual([urlOf(other)])
  const free = await startTestNode({ url: at.url, clock, hostKey: 'free' })
  list.mockResolvedValueOnce([...withUrls, { ...withUrls[0]!, id: free.ctx.sessions.node, url: urlOf(free).url }])
  expect(await begun(0)).toEqual([urlOf(free)])
  await free.close()
  list.mockRejectedValueOnce(new StoreUnavailable('away'))
  expect(await begun(0)).toEqual([])
  list.mockReturnValueOnce(new Promise(() => undefined))
  expect(await begun(1000)).toEqual([])
})

test('it waits for players of channels, who have no sessions, until they have been sent to another node', async () => {
  at.ctx.sessions.counts.channelsSentAtMs = clock.now() - 29_000
  await drain.begin()
  await passes(32_000)
  expect(isOver).toBe(false)
  await passes(1000)
  await until(() => isOver)
})

test('without another node that takes sessions it has drained at once', async () => {
  const { token } = await makeToken(at, 'publish')
  await publish(at, { presented: token })
  await other.ctx.store.transaction((tx) => tx.nodes.drain(other.ctx.sessions.node))
  await drain.begin()
  await until(() => isOver)
  await at.ctx.store.transaction((tx) => tx.nodes.delete(other.ctx.sessions.node))
})
