import { randomBytes } from 'node:crypto'
import { SORTS } from '../../src/core/channels/schedules/requests.ts'
import type { Scheduler, SchedulerSort } from '../../src/store/store.ts'
import type { Ground, ListCase } from './lists.ts'
import { addAttempt, addEvent, addRun, addScheduler, loggedWebhookId, newest } from './listsRuns.ts'
import { STREAM_LISTS } from './listsStreams.ts'
import { newChannel } from './store.channels.ts'
import { newRecording } from './store.recordings.ts'

/** The lists with their filters and orders. The filter matches two of every three items. */
const isOn = (atMs: number): boolean => atMs % 3 !== 0

type Removing = NonNullable<ListCase['remove']>
const removeChannel: Removing = ({ store }, id) => store.transaction((tx) => tx.channels.delete(id))
const removeScheduler: Removing = ({ store }, id) => store.transaction((tx) => tx.schedulers.delete(id))

type ChannelOver = Parameters<typeof newChannel>[0]

/** A list of channels with `found`, which the query matches, and `other`, which it does not. */
function channels(query: string, found: ChannelOver, other: ChannelOver): ListCase {
  return {
    path: () => `/v2/channels?${query}`,
    order: 'desc',
    add: async ({ store, accountId }, createdAtMs) => {
      const channel = newChannel({ ...(isOn(createdAtMs) ? found : other), accountId, createdAtMs })
      await store.transaction((tx) => tx.channels.insert(channel))
      return isOn(createdAtMs) ? newest(channel) : null
    },
    remove: removeChannel,
  }
}

/** An external id belongs to one channel, the first one added. */
const channelOfExternalId: ListCase = {
  path: () => '/v2/channels?externalId=show',
  order: 'desc',
  atMostOne: true,
  add: async ({ store, accountId }, createdAtMs) => {
    const existing = await store.read.channels.page({ accountId, externalId: 'show', limit: 1 })
    const externalIds = existing.length === 0 ? ['show', 'other'] : [`show ${randomBytes(8).toString('hex')}`]
    const channel = newChannel({ accountId, createdAtMs, externalIds })
    await store.transaction((tx) => tx.channels.insert(channel))
    return existing.length === 0 ? newest(channel) : null
  },
  remove: removeChannel,
}

const IDS_MAX = 100
const known = new WeakMap<Ground, number>()
const knownId = ({ accountId }: Ground, index: number): string => `ch_${accountId}${index}`

const channelsOfIds: ListCase = {
  path: (ground) =>
    `/v2/channels?id=${Array.from({ length: IDS_MAX }, (_, index) => knownId(ground, index)).join(',')}`,
  order: 'desc',
  add: async (ground, createdAtMs) => {
    const index = known.get(ground) ?? 0
    known.set(ground, index + 1)
    const isListed = isOn(createdAtMs) && index < IDS_MAX
    const over = isListed ? { id: knownId(ground, index) } : {}
    const channel = newChannel({ ...over, accountId: ground.accountId, createdAtMs })
    await ground.store.transaction((tx) => tx.channels.insert(channel))
    return isListed ? newest(channel) : null
  },
  remove: removeChannel,
}

const keyOf = (scheduler: Scheduler, by: SchedulerSort): string | number =>
  by === 'createdAt' ? scheduler.createdAtMs : scheduler[by]

/** Many of them have the same sort key. */
const schedulerAt = (atMs: number): Partial<Scheduler> => ({
  startDate: `2030-01-0${1 + (atMs % 4)}`,
  startTime: `0${atMs % 5}:30`,
  status: (['terminated', 'idle', 'active'] as const)[atMs % 3] ?? 'idle',
})

function schedulers(sortBy: SchedulerSort, order: 'asc' | 'desc', filter: string): ListCase {
  // The default order is by creation.
  const by = sortBy === 'createdAt' ? '' : `sortBy=${sortBy}&`
  return {
    path: () => `/v2/schedulers?${by}sortDirection=${order}${filter}`,
    order,
    add: async (ground, atMs) => {
      const scheduler = await addScheduler(ground, atMs, schedulerAt(atMs))
      const isListed = filter === '' || scheduler.status !== 'terminated'
      return isListed ? { id: scheduler.id, key: [keyOf(scheduler, sortBy), scheduler.id] } : null
    },
    remove: removeScheduler,
  }
}

/** Every sort key, ascending without a filter and descending with one. */
const SCHEDULERS = Object.fromEntries(
  (['createdAt', ...SORTS] as const).flatMap((sortBy) =>
    (['asc', 'desc'] as const).map((order): [string, ListCase] => {
      const filter = order === 'asc' ? '' : '&status=idle,active'
      return [`schedulers by ${sortBy}, ${order}${filter.replace('&', ', ')}`, schedulers(sortBy, order, filter)]
    }),
  ),
)

/** Everything here happens from 1 to 9 ms after the epoch. */
const at = (ms: number): string => new Date(ms).toISOString()

const runsOf = (path: ListCase['path'], query: (ground: Ground) => string): ListCase => ({
  path: (ground) => `${path(ground)}?${query(ground)}`,
  order: 'desc',
  add: async (ground, atMs) => {
    const [early, others, open] = [atMs === 3, atMs === 6, atMs === 9]
    const run = await addRun(ground, early ? 0 : atMs, {
      ...(others ? { engineId: `en_${'0'.repeat(22)}` } : {}),
      endedAtMs: open ? null : 100,
    })
    return early || others || open ? null : run
  },
})

/** Every second one was skipped and is of a feed; the others were sent, and are of recordings. */
function deliveries(query: string, isListed: (about: { isOdd: boolean; atMs: number }) => boolean): ListCase {
  return {
    path: ({ webhook }) => `/api/webhooks/${webhook.id}/deliveries?${query}`,
    order: 'desc',
    add: async ({ store, accountId, webhook }, createdAtMs) => {
      const isOdd = createdAtMs % 2 === 1
      const id = `${createdAtMs}${randomBytes(11).toString('hex').slice(1)}`
      const about = { id, eventId: id, webhookId: webhook.id, accountId, event: 'started', subject: null, createdAtMs }
      const type = isOdd ? 'feeds' : 'recording'
      const state = isOdd ? ('skipped' as const) : ('pending' as const)
      await store.transaction((tx) => tx.deliveries.insert([{ ...about, type, state, data: '{}', error: null }]))
      return isListed({ isOdd, atMs: createdAtMs }) ? { id, key: [id] } : null
    },
  }
}

export const VARIANT_LISTS: Readonly<Record<string, ListCase>> = {
  'channels of a name': channels('name=Main+Stage', { name: 'Main Stage' }, { name: 'Main stage' }),
  'channels that are searched for': channels('search=n_ST', { name: 'Main_Stage' }, { name: 'Main Stage' }),
  'channels of a status': channels('status=stopped,error', { status: 'error' }, { status: 'playing' }),
  'channels of a name that are searched for': channels(
    'name=Main+Stage&search=main&status=playing',
    { name: 'Main Stage', status: 'playing' },
    { name: 'Main Stage', status: 'stopped' },
  ),
  'recordings that are searched for': {
    path: () => '/api/recordings?search=N-ST%5FA',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      // In `like`, `_` stands for any character.
      const streamName = isOn(atMs) ? 'main-st_age' : 'main-stXage'
      const recording = newRecording({
        id: `${atMs}${randomBytes(11).toString('hex').slice(1)}`,
        accountId,
        streamName,
        state: 'completed',
      })
      await store.transaction((tx) => tx.recordings.insert(recording))
      return isOn(atMs) ? { id: recording.id, key: [recording.id] } : null
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.recordings.delete(id)),
  },
  'channels of an external id': channelOfExternalId,
  'channels of some ids': channelsOfIds,
  ...SCHEDULERS,
  'schedulers of a channel': {
    path: ({ channel }) => `/v2/schedulers?channelId=${channel.id}`,
    order: 'desc',
    add: async (ground, atMs) => {
      // In `like`, `_` stands for any character.
      const other = ground.channel.id.replace('_', 'x')
      const channels = [{ channelId: 'ch_1' }, { channelId: isOn(atMs) ? ground.channel.id : other }]
      const scheduler = await addScheduler(ground, atMs, { channels })
      return isOn(atMs) ? { id: scheduler.id, key: [scheduler.createdAtMs, scheduler.id] } : null
    },
    remove: removeScheduler,
  },
  'runs of a channel, of a time and of some engines': runsOf(
    ({ channel }) => `/v2/channels/${channel.id}/runs`,
    ({ engineId }) => `start=${at(0)}&end=${at(101)}&engineIds=${engineId},en_x`,
  ),
  'runs of an engine, of a time': runsOf(
    ({ engineId }) => `/v2/engines/${engineId}/runs`,
    ({ engineId }) => `start=${at(0)}&end=${at(101)}&engineIds=${engineId}`,
  ),
  'deliveries of a state and type': deliveries('state=skipped&type=feeds', ({ isOdd }) => isOdd),
  'deliveries from a time on': deliveries(`from=${at(2)}`, ({ atMs }) => atMs >= 2),
  'log of a webhook, of a time': {
    path: ({ accountId }) => `/v2/webhooks/${loggedWebhookId(accountId)}/logs?startDate=${at(1)}&endDate=${at(6)}`,
    order: 'desc',
    add: async (ground, atMs) => {
      const item = await addAttempt(ground, atMs)
      return atMs < 6 ? item : null
    },
  },
  'events of channels by time and type, oldest first': {
    path: () => `/v2/logs?sortDirection=asc&type=channel.created,channel.deleted&startDate=${at(2)}&endDate=${at(8)}`,
    order: 'asc',
    add: async (ground, atMs) => {
      const item = await addEvent(ground, atMs, isOn(atMs) ? 'channel.deleted' : 'channel.updated')
      return isOn(atMs) && atMs >= 2 && atMs < 8 ? item : null
    },
  },
  ...STREAM_LISTS,
}
