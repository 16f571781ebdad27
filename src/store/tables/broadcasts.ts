import { sql } from 'kysely'
import { readEndReason } from '../../core/sessions/endReason.ts'
import type { Executor } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import type { Broadcast, BroadcastQuery } from '../store.ts'
import { feedFromRow, feedsWithOrigin } from './feedRow.ts'
import { containsText } from './containsText.ts'
import { newestFirst } from './keyset.ts'

/** Each is one look into the index of a stream's feeds. Feeds that end at the same time are told apart by their ids. */
const hasNoLater = sql<boolean>`not exists (select 1 from feeds as later
  where later.account_id = feeds.account_id and later.stream_name = feeds.stream_name and later.ended_at_ms is null)
  and not exists (select 1 from feeds as later
  where later.account_id = feeds.account_id and later.stream_name = feeds.stream_name
  and later.ended_at_ms > feeds.ended_at_ms)
  and not exists (select 1 from feeds as later
  where later.account_id = feeds.account_id and later.stream_name = feeds.stream_name
  and later.ended_at_ms = feeds.ended_at_ms and later.id > feeds.id)`

export async function pastBroadcasts(executor: Executor, query: BroadcastQuery): Promise<Broadcast[]> {
  const { accountId, streamName, isLast = false, search } = query
  const rows = await executor.ask((db) => {
    let page = feedsWithOrigin(db)
      .select(fieldsOf('feeds', ['most_viewers', 'bytes_out']))
      .select('tokens.label as tokenLabel')
      .select(fieldsOf('sessions', ['protocol', 'bytes_in', 'end_reason']))
      .select((eb) =>
        eb
          .selectFrom('feed_bytes')
          .select(sql<number>`cast(sum(feed_bytes.bytes_out) as bigint)`.as('sum'))
          .whereRef('feed_bytes.feed_id', '=', 'feeds.id')
          .as('remoteBytes'),
      )
      .where('feeds.account_id', '=', accountId)
      .where('feeds.ended_at_ms', 'is not', null)
    if (streamName !== undefined) page = page.where('feeds.stream_name', '=', streamName)
    if (isLast) page = page.where(hasNoLater)
    if (search !== undefined) page = page.where(containsText('feeds.stream_name', search))
    return newestFirst(page, ['feeds.ended_at_ms', 'feeds.id'], query)
  })
  return rows.map(({ remoteBytes, ...row }) => ({
    ...feedFromRow(row),
    endedAtMs: row.endedAtMs ?? row.startedAtMs,
    endReason: row.endReason === null ? null : readEndReason(row.endReason),
    bytesOut: row.bytesOut + (remoteBytes ?? 0),
  }))
}
