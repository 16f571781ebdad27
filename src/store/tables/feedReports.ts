import { type ExpressionBuilder, sql } from 'kysely'
import type { RecentFeed } from '../../core/streams/monitoring.ts'
import { type Executor, inSlices, statement } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { RowTable } from '../rowTable.ts'
import type { DB } from '../schema.ts'
import type { FeedBytes, FeedReport, OnAirFeed, OnAirQuery, RecentFeedQuery } from '../store.ts'
import { feedFromRow, feedsWithOrigin } from './feedRow.ts'
import { matching } from './keyset.ts'

const REPORTS = new RowTable('report', {
  report_id: 'text',
  new_reading: 'text',
  viewers: 'bigint',
  bytes: 'bigint',
})

const report = statement(
  (
    _,
    p: ReturnType<typeof REPORTS.params>,
    dialect,
  ) => sql`update feeds set reading = new_reading, most_viewers = viewers, bytes_out = bytes
      from ${REPORTS.locking(p, dialect, 'feeds', 'report_id')} where feeds.id = report_id`,
)

/** Reports of deleted feeds are left out. */
export async function reportFeeds(executor: Executor, reports: readonly FeedReport[]): Promise<void> {
  const sorted = reports.toSorted((a, b) => (a.feedId < b.feedId ? -1 : 1))
  await inSlices(sorted, (slice) => {
    const rows = slice.map(({ feedId, reading, mostViewers, bytesOut }) => ({
      reportId: feedId,
      newReading: reading,
      viewers: mostViewers,
      bytes: bytesOut,
    }))
    return executor.run(report, REPORTS.params(executor, rows))
  })
}

const TOTALS = new RowTable('total', { feed_id: 'text', node_id: 'text', bytes_out: 'bigint' })

const count = statement(
  (
    _,
    p: ReturnType<typeof TOTALS.params>,
    dialect,
  ) => sql`insert into feed_bytes (${TOTALS.names}) select ${TOTALS.names} from ${TOTALS.from(p, dialect)}
      where exists (select 1 from feeds where feeds.id = total.feed_id)
      on conflict (feed_id, node_id) do update set bytes_out = excluded.bytes_out`,
)

/** Each node writes rows of its own, so no order is needed against deadlocks. Those of deleted feeds are left out. */
export async function countFeedBytes(executor: Executor, totals: readonly FeedBytes[]): Promise<void> {
  await inSlices(totals, (slice) => {
    const rows = slice.map(({ node, ...total }) => ({ ...total, nodeId: node }))
    return executor.run(count, TOTALS.params(executor, rows))
  })
}

const sparesOf = (eb: ExpressionBuilder<DB, 'feeds'>) =>
  eb
    .selectFrom('sessions as spare')
    .select((of) => of.fn.countAll<number>().as('n'))
    .whereRef('spare.account_id', '=', 'feeds.account_id')
    .whereRef('spare.stream_name', '=', 'feeds.stream_name')
    .where('spare.action', '=', 'publish')
    .where('spare.ended_at_ms', 'is', null)
    .where('spare.spare', '=', 1)
    .where(sql<string>`coalesce(spare.source_id, '')`, '=', eb.ref('feeds.source'))

const recordingsOf = (eb: ExpressionBuilder<DB, 'feeds'>) =>
  eb
    .selectFrom('recordings')
    .select((of) => of.fn.countAll<number>().as('n'))
    .whereRef('recordings.feed_id', '=', 'feeds.id')
    // A literal, because the planner cannot match a partial index with a parameter.
    .where(sql<boolean>`recordings.state = 'recording'`)

export async function streamsOnAir(executor: Executor, query: OnAirQuery): Promise<OnAirFeed[]> {
  const { accountId, streamName, after, limit } = query
  const rows = await executor.ask((db) => {
    const open = db
      .selectFrom('feeds as named')
      .select('named.stream_name')
      .distinct()
      .where('named.ended_at_ms', 'is', null)
    const found = matching(open, { 'named.account_id': accountId, 'named.stream_name': streamName })
    const names = after === undefined ? found : found.where('named.stream_name', '>', after)
    return feedsWithOrigin(db)
      .leftJoin('serving_nodes as nodes', 'nodes.id', 'feeds.node')
      .select(fieldsOf('feeds', ['reading', 'most_viewers']))
      .select(['nodes.url', 'tokens.label as tokenLabel', 'sessions.protocol'])
      .select((eb) => [sparesOf(eb).as('spares'), recordingsOf(eb).as('recordings')])
      .where('feeds.account_id', '=', accountId)
      .where('feeds.ended_at_ms', 'is', null)
      .where('feeds.stream_name', 'in', names.orderBy('named.stream_name').limit(limit))
      .orderBy('feeds.stream_name')
      .orderBy('feeds.started_at_ms')
      .orderBy('feeds.id')
  })
  return rows.map(({ recordings, endedAtMs: _endedAtMs, ...row }) => ({
    ...feedFromRow(row),
    // A feed without its session is about to end.
    protocol: row.protocol ?? 'whip',
    spares: row.spares ?? 0,
    isRecorded: (recordings ?? 0) > 0,
  }))
}

export async function recentFeeds(executor: Executor, query: RecentFeedQuery): Promise<RecentFeed[]> {
  const { accountId, streamName, sinceMs, limit } = query
  const rows = await executor.ask((db) => {
    const recent = feedsWithOrigin(db)
      .select(['feeds.reading', 'tokens.record', 'tokens.multisource'])
      .select(['sessions.protocol', 'sessions.address', 'sessions.country'])
      .select((eb) => sparesOf(eb).as('spares'))
      .where((eb) => eb.or([eb('feeds.ended_at_ms', 'is', null), eb('feeds.ended_at_ms', '>=', sinceMs)]))
    const found = matching(recent, { 'feeds.account_id': accountId, 'feeds.stream_name': streamName })
    return found.orderBy('feeds.started_at_ms', 'desc').orderBy('feeds.id', 'desc').limit(limit)
  })
  return rows.toReversed().map((row) => ({
    ...feedFromRow(row),
    protocol: row.protocol as RecentFeed['protocol'],
    record: row.record === 1,
    multisource: row.multisource === 1,
    spares: row.spares ?? 0,
  }))
}
