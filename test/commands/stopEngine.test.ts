import { expect, onTestFinished, test } from 'vitest'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { startChannel, stopChannel } from '../../src/commands/channels/runs/start.ts'
import { startTestNode } from '../support/testNode.ts'

test('a channel that is stopped before a node has taken its engine is stopped, and its run is over', async () => {
  const node = await startTestNode()
  onTestFinished(() => node.close())
  const { ctx, accountId } = node
  const actor = { kind: 'credential', id: 7, accountId, address: null, requestId: null } as const
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main' }] }]
  const made = await createChannel(ctx, actor, { name: 'Stage', ingests })
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  const { id, engines } = made.value
  for (const order of [startChannel, stopChannel]) expect((await order(ctx, actor, id)).ok).toBe(true)
  const engineId = engines[0]?.id ?? ''
  expect((await ctx.store.read.channels.get(accountId, id))?.status).toBe('stopped')
  expect((await ctx.store.read.engines.get(accountId, engineId))?.status).toBe('stopped')
  expect(await ctx.store.read.runs.page({ engineId, limit: 10 })).toMatchObject([{ stop: { type: 'api' } }])
})
