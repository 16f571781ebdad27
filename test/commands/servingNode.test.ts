import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { startNode } from '../../src/commands/nodes/servingNode.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { sessionJobs } from '../../src/jobs/sessions.ts'
import { SessionRegistry } from '../../src/media/sessionRegistry.ts'
import { type Leases, StoreUnavailable } from '../../src/store/store.ts'
import { draining } from '../support/draining.ts'
import { expireLease, unrenewed } from '../support/leases.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { admit, eventsOf, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

const LEASE_MS = 15_000

test('a node that could not renew its own lease gives up no other one until that one has had time to renew, too', async () => {
  const clock = new ManualClock()
  const at = await startTestNode({ clock })
  onTestFinished(() => at.close())
  const { store } = at.ctx
  let renewed: () => void = () => undefined
  const leases: Leases = {
    keep: (_lease, _lost, noted) => void (renewed = noted ?? renewed),
    release: async () => undefined,
  }
  let isEven = true
  const time = { isEven: async () => isEven, interrupted: () => void (isEven = false) }
  const own = { hostKey: 'here', pid: 1, url: null, isRunning: () => true, leaseMs: LEASE_MS }
  const ctx = { ...at.ctx, sessions: new SessionRegistry(), time }
  const node = await startNode(ctx, { ...own, leases, facts: () => NODE_FACTS })
  onTestFinished(() => node.stop())
  renewed()
  const other = { id: 'other', hostKey: 'elsewhere', pid: 1, url: null }
  await store.transaction((tx) => tx.nodes.insert(other, -1))
  const isThere = async () => {
    await node.sweep()
    return (await store.read.nodes.list()).some(({ id }) => id === other.id)
  }

  clock.advance(LEASE_MS / 2 + 1)
  expect(await isThere()).toBe(true)
  renewed()
  expect([isEven, await isThere()]).toEqual([false, true])
  isEven = true
  clock.advance(LEASE_MS / 2)
  renewed()
  expect([isEven, await isThere()]).toEqual([true, false])
})

test('one node looks for all after streams without viewers: of those that are alive the one that registered first', async () => {
  const clock = new ManualClock()
  const first = await startTestNode({ clock })
  onTestFinished(() => first.close())
  const second = await startTestNode({ clock, url: first.url })
  onTestFinished(() => second.close())
  const { token } = await makeToken(first, 'publish', { subscribeRequiresAuth: false })
  await publish(first, { presented: token, streamName: 'show' })
  const settings = { flushMs: 1000, noViewersMs: () => 1000 }
  const emitted = async () => (await eventsOf(first)).filter(({ name }) => name.endsWith('NoActiveViewers')).length
  const look = async ({ ctx, node }: TestNode) => {
    await closeSession(first.ctx, (await view(first, { streamName: 'show' })).session.id, 'left')
    clock.advance(2000)
    await sessionJobs(ctx, node, settings)
      .find(({ name }) => name === 'emit streams without viewers')
      ?.run()
    return emitted()
  }
  expect(await look(second)).toBe(0)
  expect(await look(first)).toBe(1)
  expect(await look(second)).toBe(1)
  await expireLease(first.url, first.ctx.sessions.node)
  expect(await look(second)).toBe(2)
})

test('a node that was given up and has not heard of it admits nobody', async () => {
  const at = await startTestNode()
  onTestFinished(() => at.close())
  const late = await startTestNode({ url: at.url })
  onTestFinished(() => late.crash())
  const { id, token } = await makeToken(at, 'publish')
  await at.ctx.store.transaction((tx) => tx.nodes.giveUp(late.ctx.sessions.node, true))
  await expect(admit(late, { presented: token })).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await at.ctx.store.read.sessions.page({ accountId: at.accountId, tokenId: id, limit: 10 })).toEqual([])
})

test('a node that registers again while it drains still drains on record', async () => {
  const at = await startTestNode()
  onTestFinished(() => at.close())
  const sessions = new SessionRegistry()
  sessions.drain = draining()
  const own = { hostKey: 'here', pid: 1, url: null, isRunning: () => true, leaseMs: LEASE_MS, leases: unrenewed }
  const node = await startNode({ ...at.ctx, sessions }, { ...own, facts: () => NODE_FACTS })
  onTestFinished(() => node.stop())
  const nodes = await at.ctx.store.read.nodes.list()
  expect(nodes.map(({ id, drainingSinceMs }) => [id, drainingSinceMs === null])).toEqual([
    [at.ctx.sessions.node, true],
    [sessions.node, false],
  ])
})
