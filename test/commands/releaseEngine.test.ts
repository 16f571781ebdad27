import { connected } from '../support/postgres.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { releaseEngine } from '../../src/commands/channels/runs/adopt.ts'
import { startChannel, stopChannel } from '../../src/commands/channels/runs/start.ts'
import { stepEngine } from '../../src/commands/channels/runs/step.ts'
import { loadConfig } from '../../src/config/load.ts'
import { overriding } from '../../src/store/nouns.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { silentLog } from '../support/log.ts'
import { passingStore } from '../support/passingStore.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { until } from '../support/until.ts'

const WAITING = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
const NODE = 'n-1'

describe.each(testedStores('PostgreSQL'))('an engine on %s', (engine) => {
  let place: Place
  beforeAll(async () => {
    place = await newPlace(engine)
  })
  afterAll(() => place.remove())

  test('starts also if its node releases it at that moment after a stop, and its run is on record', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sluice-release-'))
    const flags = { data: { dir }, storage: { url: place.url }, secrets: { sealingKey: SEALING_KEY } }
    const config = loadConfig({ env: {}, flags })
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
    const [channelId, engineId] = [made.value.id, made.value.engines[0]?.id ?? '']
    expect((await startChannel(ctx, actor, channelId)).ok).toBe(true)
    await ctx.store.transaction((tx) => tx.engineStates.take(engineId, NODE, 60_000))
    expect((await stopChannel(ctx, actor, channelId)).ok).toBe(true)
    await ctx.store.transaction((tx) => stepEngine(ctx, tx, { accountId, channelId, engineId }, { kind: 'ended' }))

    let starting: Promise<unknown> | undefined
    let isOver = false
    const waits = async () => (await connected(place.url, (client) => client.query(WAITING))).rowCount === 1
    const startsMeanwhile = (tx: Tx): Tx =>
      overriding(tx, {
        engineStates: overriding(tx.engineStates, {
          get: async (id) => {
            const state = await tx.engineStates.get(id)
            starting ??= startChannel(ctx, actor, channelId).finally(() => (isOver = true))
            await until(async () => isOver || (await waits()), 'a start that is done or waits')
            return state
          },
        }),
      })
    const store: Store = {
      ...passingStore(ctx.store),
      transaction: (work) => ctx.store.transaction((tx) => work(startsMeanwhile(tx))),
    }
    const [before] = await ctx.store.read.engineStates.busy()
    await releaseEngine({ ...ctx, store }, NODE, before!)
    await starting

    const [run] = await ctx.store.read.runs.page({ engineId, limit: 1 })
    expect(run?.endedAtMs).toBeNull()
    expect(await ctx.store.read.engineStates.busy()).toMatchObject([{ engineId, wanted: true, runId: run?.id }])
    expect((await ctx.store.read.engines.get(accountId, engineId))?.status).toBe('deploying')
  })
})
