import { randomBytes } from 'node:crypto'
import type { Channel } from '../../src/core/channels/types.ts'
import type { Store, StoredWebhook } from '../../src/store/store.ts'
import { RUN_LISTS, newLoggedWebhook } from './listsRuns.ts'
import { addBroadcast, newSession, sortedId } from './listsStreams.ts'
import { VARIANT_LISTS } from './listsVariants.ts'
import { newChannel, newDistribution, newEngine, newIngest, newLadder } from './store.channels.ts'
import { newRecording } from './store.recordings.ts'
import { accessRow, addUsage, ending, newWebhook, openFeed } from './store.samples.ts'

/** The parents of a list's items; new for each test. */
export interface Ground {
  store: Store
  accountId: string
  channel: Channel
  ingestId: string
  engineId: string
  distributionId: string
  webhook: StoredWebhook
}

/** An item with its sort key, whose parts are compared one after another. */
export interface Item {
  id: string
  key: (string | number)[]
}

/**
 * A list with a cursor. To test a new one, add a case: its path, how to add an item of time `atMs` and remove it, and its
 * sort key.
 */
export interface ListCase {
  path: (ground: Ground) => string
  order: 'asc' | 'desc'
  /** The field that identifies an item; default `id`. */
  idField?: 'trackingId' | 'streamName' | 'feedId'
  /** The list has one item at most, so it has no cursor. */
  atMostOne?: true
  /** Null: the list got no item, because its items come from the configuration or the filter excludes the new one. */
  add: (ground: Ground, atMs: number) => Promise<Item | null>
  /** Absent where single items cannot be deleted. */
  remove?: (ground: Ground, id: string) => Promise<void>
}

const newest = ({ id, createdAtMs }: { id: string; createdAtMs: number }): Item => ({ id, key: [createdAtMs, id] })

/** Many items share a name, and some names sort differently by UTF-16 than by their bytes. */
const nameOf = (atMs: number): string => ['a', 'b', 'B', 'é', '\u{1f3a5}', '\uffee'][atMs % 6] ?? ''

const tracked = (counted: string): string => `analytics/${counted}/tracking-ids?start=2026-01-01&end=2026-02-01`

async function addTracked(
  { store, accountId, channel, distributionId }: Ground,
  atMs: number,
  viewedMs = 0,
): Promise<Item> {
  const trackingId = `${atMs}${randomBytes(4).toString('hex')}`
  const of = { accountId, channelId: channel.id, distributionId, slotMs: Date.UTC(2026, 0, 1 + atMs) }
  await store.transaction((tx) => tx.served.add([{ ...of, country: '', trackingId, bytesOut: 1, viewedMs }]))
  return { id: trackingId, key: [trackingId] }
}

/** Viewers without a complete segment have only bytes. */
async function addViewed(ground: Ground, atMs: number): Promise<Item | null> {
  const item = await addTracked(ground, atMs, atMs % 3 === 0 ? 0 : 2000)
  return atMs % 3 === 0 ? null : item
}

const ingestsAt = (path: ListCase['path']): ListCase => ({
  path,
  order: 'desc',
  add: async ({ store, channel }, createdAtMs) => {
    const ingest = newIngest(channel, { createdAtMs, secretSealed: sealedNothing })
    await store.transaction((tx) => tx.ingests.insert(ingest))
    return newest(ingest)
  },
  remove: ({ store }, id) => store.transaction((tx) => tx.ingests.delete(id)),
})

const enginesAt = (path: ListCase['path']): ListCase => ({
  path,
  order: 'desc',
  add: async ({ store, channel }, createdAtMs) => {
    const engine = newEngine(channel, { createdAtMs })
    await store.transaction((tx) => tx.engines.insert(engine))
    return newest(engine)
  },
  remove: ({ store }, id) => store.transaction((tx) => tx.engines.delete(id)),
})

export const LISTS: Readonly<Record<string, ListCase>> = {
  'access log': {
    path: () => '/api/access/log',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const row = accessRow({ accountId, atMs })
      await store.transaction((tx) => tx.accessLog.append([row]))
      return { id: row.id, key: [atMs, row.id] }
    },
  },
  'webhook deliveries': {
    path: ({ webhook }) => `/api/webhooks/${webhook.id}/deliveries`,
    order: 'desc',
    add: async ({ store, accountId, webhook }, createdAtMs) => {
      const id = sortedId(createdAtMs)
      const event = {
        type: 'feeds',
        event: 'started',
        subject: null,
        data: '{}',
        error: { message: 'skipped' },
        createdAtMs,
      }
      const row = { id, eventId: id, webhookId: webhook.id, accountId, state: 'skipped' as const, ...event }
      await store.transaction((tx) => tx.deliveries.insert([row]))
      return { id, key: [id] }
    },
  },
  'tracking ids': {
    path: () => '/api/analytics/tracking/ids?startDate=2026-01-01&stopDate=2026-01-06&timeZone=UTC&prefix=c',
    order: 'asc',
    idField: 'trackingId',
    add: async ({ store, accountId }, atMs) => {
      const trackingId = `${atMs % 4 === 0 ? 'b' : 'c'}${randomBytes(4).toString('hex')}`
      await addUsage(store, { accountId, trackingId, hourMs: Date.UTC(2026, 0, atMs), bytesOut: 1 })
      return atMs % 4 === 0 || atMs > 5 ? null : { id: trackingId, key: [trackingId] }
    },
  },
  sessions: {
    path: () => '/api/sessions',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const session = newSession(accountId, atMs)
      await store.transaction((tx) => tx.sessions.insert(session, 'another node'))
      return { id: session.id, key: [session.id] }
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.sessions.end([ending(id, 10, 'left')])),
  },
  broadcasts: {
    path: () => '/api/broadcasts',
    order: 'desc',
    idField: 'feedId',
    add: (ground, atMs) => addBroadcast(ground, atMs),
  },
  'streams off the air': {
    path: () => '/api/streams/ended',
    order: 'desc',
    idField: 'feedId',
    add: (ground, atMs) => addBroadcast(ground, atMs),
  },
  'events of targets': {
    path: () => '/api/streams/stage/restream-events',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const change = { index: 0, label: '', url: 'rtmp://a/b', status: 'live', problem: null, atMs } as const
      const of = { accountId, streamName: 'stage', feedId: `feed of ${accountId}` }
      const id = await store.transaction((tx) => tx.restreamEvents.add({ ...of, ...change }, 10_000))
      return { id: String(id), key: [id] }
    },
  },
  'streams on the air': {
    path: () => '/api/streams/live',
    order: 'asc',
    idField: 'streamName',
    add: async ({ store, accountId }, atMs) => {
      const streamName = `${nameOf(atMs)}${randomBytes(6).toString('hex')}`
      const feed = openFeed({ accountId, streamName, feedId: streamName, startedAtMs: atMs })
      await store.transaction((tx) => tx.feeds.insert(feed))
      return { id: streamName, key: [streamName] }
    },
    remove: async ({ store }, id) => void (await store.transaction((tx) => tx.feeds.end(id, 10))),
  },
  recordings: {
    path: () => '/api/recordings',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const recording = newRecording({ id: sortedId(atMs), accountId, state: 'completed' })
      await store.transaction((tx) => tx.recordings.insert(recording))
      return { id: recording.id, key: [recording.id] }
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.recordings.delete(id)),
  },
  channels: {
    path: () => '/v2/channels',
    order: 'desc',
    add: async ({ store, accountId }, createdAtMs) => {
      const channel = newChannel({ accountId, createdAtMs })
      await store.transaction((tx) => tx.channels.insert(channel))
      return newest(channel)
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.channels.delete(id)),
  },
  ingests: ingestsAt(({ channel }) => `/v2/channels/${channel.id}/ingests`),
  'ingests that are monitored': ingestsAt(({ channel }) => `/v2/monitoring/channels/${channel.id}/ingests`),
  engines: enginesAt(({ channel }) => `/v2/channels/${channel.id}/engines`),
  'engines that are monitored': enginesAt(({ channel }) => `/v2/monitoring/channels/${channel.id}/engines`),
  'engines of an ingest': {
    path: ({ ingestId }) => `/v2/ingests/${ingestId}/engines`,
    order: 'desc',
    add: async ({ store, channel, ingestId }, createdAtMs) => {
      const engine = newEngine(channel, { createdAtMs, ingestId })
      await store.transaction((tx) => tx.engines.insert(engine))
      return newest(engine)
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.engines.delete(id)),
  },
  distributions: {
    path: ({ channel }) => `/v2/channels/${channel.id}/distributions`,
    order: 'asc',
    add: async ({ store, channel }, createdAtMs) => {
      const distribution = newDistribution(channel, { createdAtMs, name: nameOf(createdAtMs) })
      await store.transaction((tx) => tx.distributions.insert(distribution))
      return { id: distribution.id, key: [distribution.name, distribution.id] }
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.distributions.delete(id)),
  },
  'ABR ladders': {
    path: () => '/v2/abr',
    order: 'desc',
    add: async ({ store, accountId }, createdAtMs) => {
      const ladder = newLadder({ accountId, createdAtMs })
      await store.transaction((tx) => tx.abrLadders.insert(ladder))
      return newest(ladder)
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.abrLadders.delete(id)),
  },
  'keys of a distribution': {
    path: ({ distributionId }) => `/v2/distributions/${distributionId}/security/keys`,
    order: 'desc',
    add: async ({ store, accountId, distributionId }, createdAtMs) => {
      const id = `ke_${randomBytes(11).toString('hex')}`
      const key = { id, accountId, distributionId, name: null, keySealed: sealedNothing, createdAtMs }
      await store.transaction((tx) => tx.distributionKeys.insert(key))
      return newest(key)
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.distributionKeys.delete(id)),
  },
  'tracking ids of a distribution': {
    path: ({ distributionId }) => `/v2/distributions/${distributionId}/${tracked('bytes-transferred')}`,
    order: 'asc',
    idField: 'trackingId',
    add: (ground, atMs) => addTracked(ground, atMs),
  },
  'tracking ids of a channel': {
    path: ({ channel }) => `/v2/channels/${channel.id}/${tracked('bytes-transferred')}`,
    order: 'asc',
    idField: 'trackingId',
    add: (ground, atMs) => addTracked(ground, atMs),
  },
  'tracking ids of a distribution, by minutes': {
    path: ({ distributionId }) => `/v2/distributions/${distributionId}/${tracked('viewing-minutes')}`,
    order: 'asc',
    idField: 'trackingId',
    add: addViewed,
  },
  'tracking ids of a channel, by minutes': {
    path: ({ channel }) => `/v2/channels/${channel.id}/${tracked('viewing-minutes')}`,
    order: 'asc',
    idField: 'trackingId',
    add: addViewed,
  },
  regions: { path: () => '/v2/regions', order: 'asc', add: async () => null },
  ...RUN_LISTS,
  ...VARIANT_LISTS,
}

/** The regions of the list of regions. */
export const REGIONS = ['east', 'west', 'local', 'north-2', 'north-1']

/** The secret of every ingest of these tests, sealed by the server under test. */
let sealedNothing = new Uint8Array()

/** One parent of each kind, in an account of its own. */
export async function newGround(
  store: Store,
  accountId: string,
  seal: (secret: string) => Uint8Array,
): Promise<Ground> {
  sealedNothing = new Uint8Array(seal('key'))
  const channel = newChannel({ accountId, createdAtMs: 0 })
  // An engine with runs, in no list of the tested channel.
  const otherChannel = newChannel({ accountId, createdAtMs: 0 })
  const ingest = newIngest(channel, { createdAtMs: 0, secretSealed: sealedNothing })
  const engine = newEngine(otherChannel, { createdAtMs: 0 })
  const distribution = newDistribution(otherChannel)
  const webhook = await store.transaction(async (tx) => {
    for (const one of [channel, otherChannel]) await tx.channels.insert(one)
    await tx.ingests.insert(ingest)
    await tx.engines.insert(engine)
    await tx.distributions.insert(distribution)
    return tx.webhooks.insert(newWebhook({ accountId }))
  })
  await newLoggedWebhook({ store, accountId })
  const ids = { ingestId: ingest.id, engineId: engine.id, distributionId: distribution.id }
  return { store, accountId, channel, webhook, ...ids }
}
