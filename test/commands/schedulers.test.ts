import { expect, onTestFinished, test } from 'vitest'
import { createChannel, deleteChannel } from '../../src/commands/channels/channels.ts'
import { deleteEngine } from '../../src/commands/channels/engines.ts'
import {
  createScheduler,
  startScheduler,
  stopScheduler,
  updateScheduler,
} from '../../src/commands/channels/schedules/schedulers.ts'
import type { ChannelContext } from '../../src/commands/context.ts'
import type { Tx } from '../../src/store/store.ts'
import { waitingStore } from '../support/passingStore.ts'
import { startTestNode } from '../support/testNode.ts'

const DAY = { startDate: '2100-01-01', startTime: '10:00', endTime: '11:00' }

async function setUp() {
  const node = await startTestNode()
  onTestFinished(() => node.close())
  const { ctx, accountId } = node
  const actor = { kind: 'credential', id: 7, accountId, address: null, requestId: null } as const
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main' }] }]
  const channel = async () => {
    const made = await createChannel(ctx, actor, { name: 'Stage', ingests })
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    return { id: made.value.id, engineId: made.value.engines[0]?.id ?? '' }
  }
  const scheduler = async (body: object, within: ChannelContext = ctx) => {
    const made = await createScheduler(within, actor, { name: 'Daily', ...DAY, ...body })
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    return made.value
  }
  return { ctx, accountId, actor, channel, scheduler }
}

/** A context in which `meanwhile` happens before a transaction has the lock of a channel. */
const waiting = (ctx: ChannelContext, meanwhile: (tx: Tx) => Promise<unknown>): ChannelContext => ({
  ...ctx,
  store: waitingStore(ctx.store, 'channels', meanwhile),
})

test('a scheduler names no channel that is deleted before the scheduler is written', async () => {
  const { ctx, actor, channel, scheduler } = await setUp()
  const [a, b] = [await channel(), await channel()]
  const { id } = await scheduler({ channelIds: [a.id] })
  const within = waiting(ctx, (tx) => tx.channels.delete(b.id))
  const details = [{ path: 'channels[1].channelId', message: `there is no channel ${b.id}` }]
  const none = { ok: false, error: { code: 'validation_failed', details } }
  const channelIds = [a.id, b.id]
  expect(await createScheduler(within, actor, { name: 'Daily', ...DAY, channelIds })).toMatchObject(none)
  expect(await updateScheduler(within, actor, id, { channelIds })).toMatchObject(none)
})

test('a deleted channel or engine leaves the schedulers too that were written while its lock was waited for', async () => {
  const { ctx, accountId, actor, channel, scheduler } = await setUp()
  const [a, b] = [await channel(), await channel()]
  const { id } = await scheduler({ channelIds: [a.id] })
  const named = (engineIds?: string[]) => async (tx: Tx) => {
    const row = await tx.schedulers.lock(accountId, id)
    if (row)
      await tx.schedulers.replace({
        ...row,
        channels: [{ channelId: a.id }, { channelId: b.id, ...(engineIds && { engineIds }) }],
      })
  }
  const targets = async () => (await ctx.store.read.schedulers.get(accountId, id))?.channels
  expect(await deleteEngine(waiting(ctx, named([b.engineId])), actor, b.engineId)).toMatchObject({ ok: true })
  expect(await targets()).toEqual([{ channelId: a.id }])
  expect(await deleteChannel(waiting(ctx, named()), actor, b.id)).toMatchObject({ ok: true })
  expect(await targets()).toEqual([{ channelId: a.id }])
})

test('of schedulers that are stopped at once, the last one stops their engines', async () => {
  const { ctx, accountId, actor, channel, scheduler } = await setUp()
  const { id, engineId } = await channel()
  const [one, other] = [await scheduler({ channelIds: [id] }), await scheduler({ channelIds: [id] })]
  for (const each of [one, other]) expect(await startScheduler(ctx, actor, each.id)).toMatchObject({ ok: true })
  const otherEnds = async (tx: Tx) => {
    const row = await tx.schedulers.lock(accountId, other.id)
    if (row) await tx.schedulers.replace({ ...row, status: 'idle', occurrence: null })
  }
  expect(await stopScheduler(waiting(ctx, otherEnds), actor, one.id)).toMatchObject({ ok: true })
  expect((await ctx.store.read.engines.get(accountId, engineId))?.status).toBe('stopped')
})
