import { randomBytes } from 'node:crypto'
import type { ChannelWebhook, Run, Scheduler } from '../../src/store/store.ts'
import type { Ground, Item, ListCase } from './lists.ts'

/** Lists of runs, schedulers, webhooks and their logs. */

const id = (prefix: string) => `${prefix}_${randomBytes(11).toString('hex')}`
export const newest = ({ id: of, createdAtMs }: { id: string; createdAtMs: number }): Item => ({
  id: of,
  key: [createdAtMs, of],
})

export async function addRun(
  { store, accountId, channel, engineId }: Ground,
  startedAtMs: number,
  over: Partial<Run> = {},
): Promise<Item> {
  const run: Run = {
    id: id('rn'),
    accountId,
    channelId: channel.id,
    engineId,
    config: { ingest: { type: 'rtmp-push' }, abrLadderId: 'ab_default', drm: false },
    start: { type: 'api', id: 'credential:1' },
    stop: null,
    keptBy: null,
    startedAtMs,
    endedAtMs: null,
    heartbeatAtMs: startedAtMs,
    ...over,
  }
  await store.transaction((tx) => tx.runs.insert(run))
  return { id: run.id, key: [startedAtMs, run.id] }
}

export async function addScheduler(
  { store, accountId, channel }: Ground,
  createdAtMs: number,
  over: Partial<Scheduler> = {},
): Promise<Scheduler> {
  const scheduler: Scheduler = {
    id: id('sc'),
    accountId,
    name: `name ${createdAtMs % 3}`,
    enabled: false,
    channels: [{ channelId: channel.id }],
    startDate: '2030-01-01',
    startTime: '09:00',
    endDate: null,
    endTime: null,
    recurrence: null,
    timeZone: 'UTC',
    status: 'idle',
    occurrence: null,
    seenUntilMs: 0,
    nextAtMs: null,
    createdAtMs,
    updatedAtMs: createdAtMs,
    ...over,
  }
  await store.transaction((tx) => tx.schedulers.insert(scheduler))
  return scheduler
}

const newChannelWebhook = (accountId: string, createdAtMs: number): Omit<ChannelWebhook, 'slot'> => ({
  id: id('wh'),
  accountId,
  name: 'webhook',
  description: null,
  url: 'https://hooks.example.com/',
  events: ['*'],
  active: false,
  secretSealed: new Uint8Array([1]),
  failuresInRow: 0,
  disabled: null,
  createdAtMs,
  updatedAtMs: createdAtMs,
})

/** The webhook of the tested log, one for each account. */
const logged = new Map<string, ChannelWebhook>()

export const loggedWebhookId = (accountId: string): string => logged.get(accountId)?.id ?? 'none'

/** Call it before the first request for the log of an account. */
export async function newLoggedWebhook({ store, accountId }: Pick<Ground, 'store' | 'accountId'>): Promise<void> {
  const webhook = newChannelWebhook(accountId, 0)
  await store.transaction((tx) => tx.channelWebhooks.insert(webhook))
  const stored = await store.read.channelWebhooks.get(accountId, webhook.id)
  if (stored) logged.set(accountId, stored)
}

export async function addAttempt({ store, accountId }: Ground, atMs: number): Promise<Item> {
  const webhookId = logged.get(accountId)?.slot ?? 0
  // A retry is created before later events, but starts after them: the log is ordered by time and not by id.
  const own = randomBytes(11).toString('hex')
  const event = {
    type: 'channel',
    event: 'channel.created',
    subject: null,
    data: '{"object":{}}',
    error: null,
    createdAtMs: atMs,
  }
  const payload = { body: Buffer.from('{}'), contentType: 'application/json', headers: {} }
  const end = { statusCode: 200, durationMs: 1, answer: '', error: null, endedAtMs: atMs }
  if (atMs % 4 === 0) {
    const skipped = { ...event, state: 'skipped' as const, error: { message: 'it was paused' } }
    await store.transaction((tx) => tx.deliveries.insert([{ id: own, eventId: own, webhookId, accountId, ...skipped }]))
    return { id: `lg_${own}`, key: [atMs, own] }
  }
  await store.transaction(async (tx) => {
    await tx.deliveries.insert([{ id: own, eventId: own, webhookId, accountId, state: 'pending', ...event }])
    await tx.deliveries.start('node', atMs, [{ id: own, payload }])
    await tx.deliveries.finish('node', [{ id: own, state: 'delivered', ...end }])
  })
  return { id: `lg_${own}`, key: [atMs, own] }
}

export async function addEvent({ store, accountId }: Ground, atMs: number, type = 'channel.created'): Promise<Item> {
  const own = randomBytes(11).toString('hex')
  const data = '{"object":{"type":"channel","id":"ch_1","name":"x"},"data":null}'
  await store.transaction((tx) => tx.channelEvents.insert([{ id: own, accountId, atMs, type, data }]))
  return { id: `ev_${own}`, key: [atMs, own] }
}

export const RUN_LISTS: Readonly<Record<string, ListCase>> = {
  'runs of a channel': {
    path: ({ channel }) => `/v2/channels/${channel.id}/runs`,
    order: 'desc',
    add: (ground, atMs) => addRun(ground, atMs),
  },
  'runs of an engine': {
    path: ({ engineId }) => `/v2/engines/${engineId}/runs`,
    order: 'desc',
    add: (ground, atMs) => addRun(ground, atMs),
  },
  schedulers: {
    path: () => '/v2/schedulers',
    order: 'desc',
    add: async (ground, atMs) => newest(await addScheduler(ground, atMs)),
    remove: ({ store }, of) => store.transaction((tx) => tx.schedulers.delete(of)),
  },
  'webhooks of channels': {
    path: () => '/v2/webhooks',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const webhook = newChannelWebhook(accountId, atMs)
      await store.transaction((tx) => tx.channelWebhooks.insert(webhook))
      return newest(webhook)
    },
  },
  'events of channels': { path: () => '/v2/logs', order: 'desc', add: (ground, atMs) => addEvent(ground, atMs) },
  'log of a webhook': {
    path: ({ accountId }) => `/v2/webhooks/${loggedWebhookId(accountId)}/logs`,
    order: 'desc',
    add: addAttempt,
  },
}
