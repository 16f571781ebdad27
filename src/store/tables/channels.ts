import { sql } from 'kysely'
import type { Channel, LiveStatus } from '../../core/live/types.ts'
import { inSlices, type Session, statement } from '../session.ts'
import type { ChannelListQuery } from '../store.ts'
import { beyond } from './keyset.ts'
import { forgetLives } from './lives.ts'
import { Resource } from './resource.ts'

const channels = new Resource<'channels', Channel>('channels', {
  toRow: (channel) => ({
    id: channel.id,
    account_id: channel.accountId,
    name: channel.name,
    external_ids: JSON.stringify(channel.externalIds),
    timeout_seconds: channel.timeoutSeconds,
    status: channel.status,
    created_at_ms: channel.createdAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    externalIds: JSON.parse(row.external_ids) as string[],
    timeoutSeconds: row.timeout_seconds,
    status: row.status,
    createdAtMs: row.created_at_ms,
  }),
  kept: ['status'],
})

const setStatus = statement((db, p: { id: string; status: LiveStatus }) =>
  db.updateTable('channels').set({ status: p.status }).where('id', '=', p.id),
)

const forgetExternalIds = statement((db, p: { id: string }) =>
  db.deleteFrom('channel_external_ids').where('channel_id', '=', p.id),
)

export const getChannel = channels.get.bind(channels)
export const lockChannel = channels.lock.bind(channels)

export async function insertChannel(session: Session, channel: Channel): Promise<void> {
  await channels.insert(session, channel)
  await insertExternalIds(session, channel)
}

export async function replaceChannel(session: Session, channel: Channel): Promise<void> {
  await channels.replace(session, channel)
  await session.run(forgetExternalIds, { id: channel.id })
  await insertExternalIds(session, channel)
}

export async function setChannelStatus(session: Session, id: string, status: LiveStatus): Promise<void> {
  await session.run(setStatus, { id, status })
}

/** Removes what hangs on the channel first: nothing is left that leads nowhere. */
export async function deleteChannel(session: Session, id: string): Promise<void> {
  await session.change((db) =>
    db
      .deleteFrom('distribution_keys')
      .where('distribution_id', 'in', (eb) =>
        eb.selectFrom('distributions').select('distributions.id').where('channel_id', '=', id),
      ),
  )
  for (const table of ['distributions', 'engines', 'ingests', 'channel_external_ids'] as const) {
    await session.change((db) => db.deleteFrom(table).where('channel_id', '=', id))
  }
  await forgetLives(session, id)
  await channels.delete(session, id)
}

export async function pageChannels(session: Session, query: ChannelListQuery): Promise<Channel[]> {
  const { accountId, after, externalId, search } = query
  const rows = await session.ask((db) => {
    let page = db.selectFrom('channels').selectAll().where('account_id', '=', accountId)
    if (query.name !== undefined) page = page.where('name', '=', query.name)
    if (query.statuses) page = page.where('status', 'in', query.statuses)
    if (query.ids) page = page.where('id', 'in', query.ids)
    if (search !== undefined) page = page.where((eb) => eb.or([eb('id', '=', search), nameContains(search)]))
    if (externalId !== undefined) {
      page = page.where('id', 'in', (eb) =>
        eb
          .selectFrom('channel_external_ids as known')
          .select('known.channel_id')
          .where('known.account_id', '=', accountId)
          .where('known.external_id', '=', externalId),
      )
    }
    if (after) page = page.where(beyond(['created_at_ms', 'id'], 'desc', [after.atMs, after.id]))
    return page.orderBy('created_at_ms', 'desc').orderBy('id', 'desc').limit(query.limit)
  })
  return channels.read(rows)
}

/** Both engines fold the case of ASCII alone here, because text is compared by its bytes. */
function nameContains(text: string) {
  const pattern = `%${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`lower(name) like ${pattern} escape '\\'`
}

async function insertExternalIds(session: Session, { id, accountId, externalIds }: Channel): Promise<void> {
  const rows = externalIds.map((externalId) => ({ account_id: accountId, external_id: externalId, channel_id: id }))
  await inSlices(rows, (slice) => session.change((db) => db.insertInto('channel_external_ids').values(slice)))
}
