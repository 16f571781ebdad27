import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { startChannel, stopChannel } from '../../src/commands/channels/runs/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import { silentLog } from '../support/log.ts'

test('a channel that is stopped before a node has taken its engine is stopped, and its run is over', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-stop-'))
  const config = loadConfig({ env: {}, flags: { data: { dir } } })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  const app = await openApp({ config: config.value, log: silentLog })
  const { ctx } = app
  onTestFinished(async () => {
    await app.close()
    await rm(dir, { recursive: true })
  })
  const [account] = await ctx.store.read.accounts.list()
  const accountId = account?.id ?? ''
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
