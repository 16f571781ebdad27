import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createChannel, deleteChannel, updateChannel } from '../../src/commands/channels/channels.ts'
import { createDistribution, updateDistribution } from '../../src/commands/channels/distributions.ts'
import { createScheduler, deleteScheduler, updateScheduler } from '../../src/commands/channels/schedules/schedulers.ts'
import { passingStore } from '../support/passingStore.ts'
import { startTestNode } from '../support/testNode.ts'

test('events are dated when a change is made, not when its request began to wait for others', async () => {
  const clock = new ManualClock()
  const node = await startTestNode({ clock })
  onTestFinished(() => node.close())
  const { store } = node.ctx
  /** When the transaction of a change had its locks. */
  let lockedAtMs = 0
  const ctx: typeof node.ctx = {
    ...node.ctx,
    store: {
      ...passingStore(store),
      transaction: (work) =>
        store.transaction((tx) => {
          clock.advance(1000)
          lockedAtMs = clock.now()
          return work(tx)
        }),
    },
  }
  const { accountId } = node
  const actor = { kind: 'credential', id: 7, accountId, address: null, requestId: null } as const
  const eventsOf = async (work: Promise<{ ok: boolean }>): Promise<string[]> => {
    expect(await work).toMatchObject({ ok: true })
    const events = await store.read.outbox.pending(99)
    await store.transaction((tx) => tx.outbox.take(99))
    expect(events.map(({ createdAtMs }) => createdAtMs)).toEqual(events.map(() => lockedAtMs))
    return events.map(({ event }) => event)
  }
  const made = createChannel(ctx, actor, { name: 'Stage', ingests: [{ name: 'Camera', type: 'rtmp-push' }] })
  expect(await eventsOf(made)).toEqual(['channel.created', 'ingest.created'])
  const channel = await made
  const id = channel.ok ? channel.value.id : ''
  expect(await eventsOf(updateChannel(ctx, actor, id, { name: 'Hall' }))).toEqual(['channel.updated'])
  const shown = createDistribution(ctx, actor, id, { name: 'Site' })
  expect(await eventsOf(shown)).toEqual(['distribution.created'])
  const distribution = await shown
  const change = (body: object) =>
    eventsOf(updateDistribution(ctx, actor, distribution.ok ? distribution.value.id : '', body))
  expect(await change({ name: 'Page' })).toEqual(['distribution.updated'])
  expect(await change({ enabled: false })).toEqual(['distribution.updated', 'distribution.disabled'])
  const starts = { startDate: '2999-01-01', startTime: '10:00', channels: [{ channelId: id }] }
  const planned = createScheduler(ctx, actor, { name: 'Show', ...starts })
  expect(await eventsOf(planned)).toEqual(['scheduler.created'])
  const scheduler = await planned
  const schedulerId = scheduler.ok ? scheduler.value.id : ''
  expect(await eventsOf(updateScheduler(ctx, actor, schedulerId, { name: 'Talk' }))).toEqual(['scheduler.updated'])
  expect(await eventsOf(deleteScheduler(ctx, actor, schedulerId))).toEqual(['scheduler.deleted'])
  expect(await eventsOf(deleteChannel(ctx, actor, id))).toEqual([
    'ingest.deleted',
    'distribution.deleted',
    'channel.deleted',
  ])
})
