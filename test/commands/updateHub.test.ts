import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { UpdateHub } from '../../src/commands/streams/updateHub.ts'
import { startTestNode } from '../support/testNode.ts'
import { pace, until } from '../support/until.ts'

it('reads an account once for all of its open dashboards, and nothing when none has been open for a minute', async () => {
  const node = await startTestNode()
  const clock = new ManualClock()
  const hub = new UpdateHub({ ...node.ctx, clock })
  const { read } = node.ctx.store
  const reads = [
    vi.spyOn(read.audit, 'actions'),
    vi.spyOn(read.engines, 'unstopped'),
    vi.spyOn(read.webhooks, 'forAccount'),
  ]
  const counts = () => reads.map(({ mock }) => mock.calls.length)
  let rounds = 0
  const nextRound = (): number[] => {
    rounds += 1
    clock.advance(2000)
    return counts()
  }
  const quietRounds = async (): Promise<void> => {
    let [before, quiet] = [counts(), 0]
    while (quiet < 40) {
      await pace(20)
      const now = nextRound()
      quiet = now.join() === before.join() ? quiet + 1 : 0
      before = now
    }
  }

  await quietRounds()
  expect(counts()).toEqual([0, 0, 0])

  const send = vi.fn()
  const closing = Array.from({ length: 5 }, (_, userId) =>
    hub.open({ accountId: node.accountId, userId, send, end: () => undefined }, null),
  )
  await until(() => send.mock.calls.length === 5)
  const [began = 0] = counts()
  rounds = 0
  await until(() => (nextRound()[0] ?? 0) >= began + 5)
  expect((counts()[0] ?? 0) - began).toBeLessThanOrEqual(rounds)

  for (const close of closing) close?.()
  await quietRounds()
  await hub.stop()
  await node.close()
})

it('looks once more after a look that took long, however many changes came meanwhile', async () => {
  const node = await startTestNode()
  const clock = new ManualClock()
  const hub = new UpdateHub({ ...node.ctx, clock })
  const { feeds } = node.ctx.store.read
  const onAir = feeds.onAir.bind(feeds)
  const slow = Promise.withResolvers<void>()
  const looks = vi.spyOn(feeds, 'onAir').mockImplementation((query) => slow.promise.then(() => onAir(query)))
  const { accountId } = node
  for (let userId = 0; userId < 10; userId += 1) {
    hub.open({ accountId, userId, send: () => undefined, end: () => undefined }, null)
    await until(() => looks.mock.calls.length === 1)
    clock.advance(100)
  }
  slow.resolve()
  // The store and the clock are of this process: what is to come comes within a few turns.
  for (let turns = 0; turns < 100; turns += 1) await nextTurn()
  expect(looks).toHaveBeenCalledTimes(2)
  await hub.stop()
  await node.close()
})

it('kept all other accounts out while one had many users; an account leaves some readers to each other one', async () => {
  const node = await startTestNode()
  const hub = new UpdateHub(node.ctx)
  const take = (accountId: string): number => {
    for (let userId = 0; ; userId += 1)
      if (hub.open({ accountId, userId, send: () => undefined, end: () => undefined }, null) === null) return userId
  }
  expect(['one', 'two', 'three'].map(take)).toEqual([375, 94, 24])
  await hub.stop()
  await node.close()
})
