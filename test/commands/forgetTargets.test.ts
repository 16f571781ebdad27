import { expect, onTestFinished, test } from 'vitest'
import { createChannel, deleteChannel } from '../../src/commands/channels/channels.ts'
import { deleteEngine } from '../../src/commands/channels/engines.ts'
import { createScheduler, updateScheduler } from '../../src/commands/channels/schedules/schedulers.ts'
import type { ChannelContext } from '../../src/commands/context.ts'
import { overriding } from '../../src/store/nouns.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { passingStore } from '../support/passingStore.ts'
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

/** The same context. `meanwhile` happens in each transaction that waits for the lock of this channel, before it has it. */
function waiting(ctx: ChannelContext, channelId: string, meanwhile: (tx: Tx) => Promise<unknown>): ChannelContext {
  const store: Store = {
    ...passingStore(ctx.store),
    transaction: (work) =>
      ctx.store.transaction((tx) =>
        work(
          overriding(tx, {
            get channels() {
              return overriding(tx.channels, {
                async lock(accountId: string, id: string) {
                  if (id === channelId) await meanwhile(tx)
                  return tx.channels.lock(accountId, id)
                },
              })
            },
          }),
        ),
      ),
  }
  return { ...ctx, store }
}

test('a scheduler names no channel that is deleted before the scheduler is written', async () => {
  const { ctx, actor, channel, scheduler } = await setUp()
  const [a, b] = [await channel(), await channel()]
  const { id } = await scheduler({ channelIds: [a.id] })
  const within = waiting(ctx, b.id, (tx) => tx.channels.delete(b.id))
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
  expect(await deleteEngine(waiting(ctx, b.id, named([b.engineId])), actor, b.engineId)).toMatchObject({ ok: true })
  expect(await targets()).toEqual([{ channelId: a.id }])
  expect(await deleteChannel(waiting(ctx, b.id, named()), actor, b.id)).toMatchObject({ ok: true })
  expect(await targets()).toEqual([{ channelId: a.id }])
})
