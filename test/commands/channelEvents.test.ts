import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { createChannel, deleteChannel, updateChannel } from '../../src/commands/channels/channels.ts'
import { createScheduler, deleteScheduler, updateScheduler } from '../../src/commands/channels/schedules/schedulers.ts'
import { loadConfig } from '../../src/config/load.ts'
import { silentLog } from '../support/log.ts'
import { passingStore } from '../support/passingStore.ts'

test('events are dated when a change is made, not when its request began to wait for others', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-events-'))
  const config = loadConfig({ env: {}, flags: { data: { dir } } })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  const clock = new ManualClock()
  const app = await openApp({ config: config.value, log: silentLog, clock })
  onTestFinished(async () => {
    await app.close()
    await rm(dir, { recursive: true })
  })
  const { store } = app.ctx
  /** When the transaction of a change had its locks. */
  let lockedAtMs = 0
  const ctx: typeof app.ctx = {
    ...app.ctx,
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
  const [account] = await store.read.accounts.list()
  const actor = { kind: 'credential', id: 7, accountId: account?.id ?? '', address: null, requestId: null } as const
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
  const starts = { startDate: '2999-01-01', startTime: '10:00', channels: [{ channelId: id }] }
  const planned = createScheduler(ctx, actor, { name: 'Show', ...starts })
  expect(await eventsOf(planned)).toEqual(['scheduler.created'])
  const scheduler = await planned
  const schedulerId = scheduler.ok ? scheduler.value.id : ''
  expect(await eventsOf(updateScheduler(ctx, actor, schedulerId, { name: 'Talk' }))).toEqual(['scheduler.updated'])
  expect(await eventsOf(deleteScheduler(ctx, actor, schedulerId))).toEqual(['scheduler.deleted'])
  expect(await eventsOf(deleteChannel(ctx, actor, id))).toEqual(['ingest.deleted', 'channel.deleted'])
})
