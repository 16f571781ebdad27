import { connected } from '../support/postgres.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { releaseEngine } from '../../src/commands/channels/runs/adopt.ts'
import { startChannel, stopChannel } from '../../src/commands/channels/runs/start.ts'
import { stepEngine } from '../../src/commands/channels/runs/step.ts'
import { overriding } from '../../src/store/nouns.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { passingStore } from '../support/passingStore.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { startTestNode } from '../support/testNode.ts'
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
    const node = await startTestNode({ url: place.url })
    onTestFinished(() => node.close())
    const { ctx, accountId } = node
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
