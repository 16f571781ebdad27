import { randomBytes } from 'node:crypto'
import type { Recording } from '../../src/core/recordings/types.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import type { AccessLogRow } from '../../src/store/store.ts'
import type { Ground, Item, ListCase } from './lists.ts'
import { newRecording } from './store.recordings.ts'
import { accessRow, auditRow, ending, newSession as sampleSession, openFeed } from './store.samples.ts'

/** Lists of the token API with their filters. Three of every nine items differ in one filtered field or in all of them. */

/** An id of the usual length, time-ordered like all ids. */
export const sortedId = (atMs: number): string => `${atMs}${randomBytes(11).toString('hex').slice(1)}`

/** Everything here happens from 1 to 9 ms after the epoch. */
const at = (ms: number): string => new Date(ms).toISOString()

const differs = (atMs: number): boolean => atMs % 3 === 0

/** What another item has in place of the fields: one of these each time, and all of them if there are two. */
const except = <T extends object>(atMs: number, others: readonly Partial<T>[]): Partial<T> =>
  differs(atMs) ? (others[atMs / 3 - 1] ?? (Object.assign({}, ...others) as Partial<T>)) : {}

export const newSession = (accountId: string, atMs: number, over: Partial<Session> = {}): Session =>
  sampleSession({ id: sortedId(atMs), accountId, protocol: 'hls', startedAtMs: atMs, ...over })

/** A broadcast that is over; by default the only one of its stream. */
export async function addBroadcast({ store, accountId }: Ground, atMs: number, name?: string): Promise<Item> {
  const feedId = sortedId(atMs)
  const streamName = name ?? feedId
  const feed = openFeed({ accountId, streamName, feedId, startedAtMs: 0 })
  await store.transaction(async (tx) => {
    await tx.feeds.insert(feed)
    await tx.feeds.end(feedId, atMs)
  })
  return { id: feedId, key: [atMs, feedId] }
}

function sessions(query: string, over: Partial<Session>, others: readonly Partial<Session>[]): ListCase {
  return {
    path: () => `/api/sessions?${query}`,
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const session = newSession(accountId, atMs, { ...over, ...except(atMs, others) })
      await store.transaction((tx) => tx.sessions.insert(session, 'another node'))
      return differs(atMs) ? null : { id: session.id, key: [session.id] }
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.sessions.end([ending(id, 10, 'left')])),
  }
}

const withStage = new WeakSet<Ground>()

/** Only the first one has the name. */
async function addOnAir(ground: Ground, atMs: number): Promise<Item | null> {
  const isFirst = !withStage.has(ground)
  withStage.add(ground)
  const streamName = isFirst ? 'stage' : `stage ${randomBytes(4).toString('hex')}`
  const feed = openFeed({ accountId: ground.accountId, streamName, startedAtMs: atMs })
  await ground.store.transaction((tx) => tx.feeds.insert(feed))
  return isFirst ? { id: streamName, key: [streamName] } : null
}

type IsListed = (atMs: number) => boolean

function decisions(query: string, over: (atMs: number) => Partial<AccessLogRow>, isListed: IsListed): ListCase {
  return {
    path: () => `/api/access/log?${query}`,
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const row = accessRow({ accountId, atMs, ...over(atMs) })
      await store.transaction((tx) => tx.accessLog.append([row]))
      return isListed(atMs) ? { id: row.id, key: [atMs, row.id] } : null
    },
  }
}

const refused = { allowed: false, code: 'token_expired' } as const

function broadcasts(path: string, isLast = false): ListCase {
  return {
    path: () => path,
    order: 'desc',
    idField: 'feedId',
    add: async (ground, atMs) => {
      const own = isLast ? randomBytes(4).toString('hex') : ''
      const item = await addBroadcast(ground, atMs, differs(atMs) ? `stXge${own}` : `st_ge${own}`)
      return differs(atMs) ? null : item
    },
  }
}

async function addAudit({ store, accountId }: Ground, atMs: number): Promise<Item | null> {
  const action = atMs === 5 ? 'publish_token.update' : 'publish_token.create'
  const row = { ...auditRow(accountId, 'x'), atMs, action, actor: { kind: 'user', id: atMs === 6 ? 4 : 3 } as const }
  await store.transaction((tx) => tx.audit.append(row))
  const id = (await store.read.audit.recent(accountId, 1))[0]?.id ?? 0
  return [1, 5, 6, 9].includes(atMs) ? null : { id: String(id), key: [atMs, id] }
}

export const STREAM_LISTS: Readonly<Record<string, ListCase>> = {
  'sessions of a token and a stream': sessions('tokenId=7&streamName=stage', { tokenId: 7 }, [
    { tokenId: 8 },
    { streamName: 'Stage' },
  ]),
  'sessions of an action, a protocol and an address': sessions(
    'action=publish&protocol=whip&address=192.0.2.1',
    { action: 'publish', protocol: 'whip' },
    [{ protocol: 'rtmp' }, { address: '192.0.2.2' }, { action: 'view' }],
  ),
  'decisions about a token and a stream': decisions(
    'tokenId=7&streamName=stage',
    (atMs) => ({ tokenId: 7, ...except<AccessLogRow>(atMs, [{ tokenId: null }, { streamName: 'Stage' }]) }),
    (atMs) => !differs(atMs),
  ),
  'decisions about an address, of a code': decisions(
    'address=192.0.2.1&code=token_expired',
    (atMs) => ({ ...refused, ...except<AccessLogRow>(atMs, [{ address: '::1' }, { code: 'invalid_token' }]) }),
    (atMs) => !differs(atMs),
  ),
  'decisions that refused, of a time': decisions(
    `allowed=false&from=${at(2)}&until=${at(9)}`,
    (atMs) => (atMs % 4 === 0 ? {} : refused),
    (atMs) => atMs % 4 !== 0 && atMs >= 2 && atMs < 9,
  ),
  'a stream on the air': {
    path: () => '/api/streams/live?streamName=stage',
    order: 'asc',
    idField: 'streamName',
    atMostOne: true,
    add: addOnAir,
  },
  'broadcasts of one stream among others': broadcasts('/api/broadcasts?streamName=st_ge'),
  'broadcasts of a stream': broadcasts('/api/streams/st_ge/broadcasts'),
  'streams off the air that are searched for': broadcasts('/api/streams/ended?search=ST_G', true),
  'recordings of a token and a stream': {
    path: () => '/api/recordings?tokenId=7&streamName=stage',
    order: 'desc',
    add: async ({ store, accountId }, atMs) => {
      const other = except<Recording>(atMs, [{ tokenId: 8 }, { streamName: 'Stage' }])
      const recording = newRecording({ id: sortedId(atMs), accountId, state: 'completed', ...other })
      await store.transaction((tx) => tx.recordings.insert(recording))
      return differs(atMs) ? null : { id: recording.id, key: [recording.id] }
    },
    remove: ({ store }, id) => store.transaction((tx) => tx.recordings.delete(id)),
  },
  'audit log of a person, an action and a time': {
    path: () => `/dashboard/api/audit?actor=user:3&action=publish_token.create&from=${at(2)}&until=${at(9)}`,
    order: 'desc',
    add: addAudit,
  },
}
