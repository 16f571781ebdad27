import { type Kysely, sql } from 'kysely'
import type { RecentFeed } from '../../core/streams/monitoring.ts'
import { readEndReason } from '../../core/sessions/endReason.ts'
import { streamIdOf, type StreamRef } from '../../core/streams/streamId.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import { type DbBoolean, dbFlag } from '../columns.ts'
import { fieldOf, fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { larger, RowTable } from '../rowTable.ts'
import type { DB } from '../schema.ts'
import type {
  Broadcast,
  BroadcastQuery,
  EndedFeed,
  FeedBytes,
  FeedEnd,
  FeedReport,
  LocatedFeed,
  OnAirFeed,
  OnAirQuery,
  RecentFeedQuery,
  StoredFeed,
} from '../store.ts'
import { FEED_COLUMNS, FEED_NAMES, feedFromRow, feedRow, type FeedRow } from './feedRow.ts'
import { lockRows } from './lockRows.ts'
import { pastBroadcasts } from './broadcasts.ts'
import { countFeedBytes, recentFeeds, reportFeeds, streamsOnAir } from './feedReports.ts'

const insert = statement((db, p: FeedRow) =>
  db.insertInto('feeds').values({ ...rowOf('feeds', FEED_NAMES, p), most_viewers: sql.lit(0), bytes_out: sql.lit(0) }),
)

const openIds = statement((db, p: { node: string }) =>
  db.selectFrom('feeds').select('id').where('node', '=', p.node).where('ended_at_ms', 'is', null),
)

const tokensOf = (db: Kysely<DB>, { accountId }: { accountId: string }) =>
  db
    .selectFrom('feeds')
    .select('token_id')
    .distinct()
    .where('account_id', '=', accountId)
    .where('ended_at_ms', 'is', null)
    .orderBy('token_id')

const tokens = statement((db, p: { accountId: string }) => tokensOf(db, p))
const tokensOfStream = statement((db, p: StreamRef) => tokensOf(db, p).where('stream_name', '=', p.streamName))

/** Steps from name to name in the index of streams, so that it costs the number of names and not of feeds. */
const recentNames = statement(
  (_, p: { accountId: string; limit: number }) => sql<{ name: string }>`with recursive names(name) as (
      select min(stream_name) from feeds where account_id = ${p.accountId}
      union all
      select (select min(stream_name) from feeds where account_id = ${p.accountId} and stream_name > names.name)
      from names where names.name is not null
    ) select name from names where name is not null limit ${p.limit}`,
)

/** Feeds on the air, each with the address of its node, the oldest first. */
const located = (db: Kysely<DB>) =>
  db
    .selectFrom('feeds')
    .leftJoin('serving_nodes', 'serving_nodes.id', 'feeds.node')
    .select(FEED_COLUMNS)
    .select('serving_nodes.url')
    .where('feeds.ended_at_ms', 'is', null)
    .orderBy('feeds.started_at_ms')

const remote = statement((db, p: { node: string; limit: number }) =>
  located(db).where('feeds.node', '<>', p.node).limit(p.limit),
)

const remoteOf = statement((db, p: StreamRef & { node: string }) =>
  located(db)
    .where('feeds.account_id', '=', p.accountId)
    .where('feeds.stream_name', '=', p.streamName)
    .where('feeds.node', '<>', p.node),
)

const lockOpen = statement((db, p: StreamRef, dialect) => {
  const rows = db
    .selectFrom('feeds')
    .select(FEED_COLUMNS)
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('ended_at_ms', 'is', null)
    .orderBy('id')
  return lockRows(dialect, rows, 'no key update')
})

/** Serializes transactions of a stream without an open feed, which have no row to lock. */
const lockStream = statement((db, p: { stream: string }) =>
  db.selectNoFrom(sql<number>`pg_advisory_xact_lock(hashtextextended(${p.stream}, 0)) is null`.as('locked')),
)

const lastEnd = statement((db, p: StreamRef) =>
  db
    .selectFrom('feeds')
    .select((eb) => eb.fn.max('ended_at_ms').as('at'))
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName),
)

const latest = statement((db, p: StreamRef & { source: string }) =>
  db
    .selectFrom('feeds')
    .select(FEED_COLUMNS)
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('source', '=', p.source)
    .where('ended_at_ms', 'is not', null)
    .orderBy('ended_at_ms', 'desc')
    .limit(1),
)

const lastEnded = (db: Kysely<DB>, p: StreamRef) =>
  db
    .selectFrom('feeds')
    .innerJoin('sessions', 'sessions.id', 'feeds.session_id')
    .select(['feeds.session_id', 'feeds.node', 'feeds.ended_at_ms', 'sessions.end_reason'])
    .where('feeds.account_id', '=', p.accountId)
    .where('feeds.stream_name', '=', p.streamName)
    .where('feeds.ended_at_ms', 'is not', null)
    .orderBy('feeds.ended_at_ms', 'desc')
    .limit(1)

const lastOfStream = statement((db, p: StreamRef) => lastEnded(db, p))
const lastOfSource = statement((db, p: StreamRef & { source: string }) =>
  lastEnded(db, p).where('feeds.source', '=', p.source),
)

const settle = statement((db, p: StreamRef & { latestMs: number; atMs: number }) =>
  db
    .updateTable('feeds')
    .set((eb) => ({
      started_at_ms: sql<number>`${eb.ref('started_at_ms')} - (${eb.ref('ended_at_ms')} - cast(${p.atMs} as bigint))`,
      ended_at_ms: sql<number>`cast(${p.atMs} as bigint)`,
    }))
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('ended_at_ms', '>', p.latestMs),
)

const endOne = statement((db, p: { id: string; atMs: number }) =>
  db
    .updateTable('feeds')
    .set({ ended_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where('ended_at_ms', 'is', null)
    .returning(FEED_COLUMNS),
)

const ENDED_NAMES = [...FEED_NAMES, 'ended_at_ms'] as const
type EndedRow = FieldsOf<'feeds', (typeof ENDED_NAMES)[number]>
const ENDED_COLUMNS = sql.join(ENDED_NAMES.map((name) => sql`${sql.ref(`feeds.${name}`)} as ${sql.ref(fieldOf(name))}`))

/** Locks them in the order of every lock on several feeds, so that no two writers of the same ones deadlock. */
const endOfNode = statement((db, p: { node: string; atMs: number }, dialect) => {
  const open = db.selectFrom('feeds').select('id').where('node', '=', p.node).where('ended_at_ms', 'is', null)
  return db
    .updateTable('feeds')
    .set({ ended_at_ms: larger(sql.ref('started_at_ms'), sql`cast(${p.atMs} as bigint)`) })
    .where('id', 'in', lockRows(dialect, open.orderBy('id'), 'no key update'))
    .returning(fieldsOf('feeds', ENDED_NAMES))
})

const ENDINGS = new RowTable('ending', { ending_id: 'text', at_ms: 'bigint' })

/** Locks them as `endOfNode` does. */
const endOfSessions = statement((db, p: ReturnType<typeof ENDINGS.params>, dialect) => {
  const sessions = sql<string>`(select ending_id from ${ENDINGS.from(p, dialect)})`
  const open = db.selectFrom('feeds').select('id').where('session_id', 'in', sessions).where('ended_at_ms', 'is', null)
  return sql<EndedRow>`update feeds set ended_at_ms = at_ms from ${ENDINGS.from(p, dialect)}
    where feeds.session_id = ending_id and feeds.id in ${lockRows(dialect, open.orderBy('id'), 'no key update')}
    returning ${ENDED_COLUMNS}`
})

const switchRecording = statement((db, p: StreamRef & { record: DbBoolean }) =>
  db
    .updateTable('feeds')
    .set({ record_switch: p.record })
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('ended_at_ms', 'is', null),
)

const switched = statement((db, p: { node: string }) =>
  db
    .selectFrom('feeds')
    .select(FEED_COLUMNS)
    .where('node', '=', p.node)
    .where('ended_at_ms', 'is', null)
    .where('record_switch', 'is not', null),
)

export class FeedReadVerbs extends Verbs {
  async tokenIds(accountId: string, streamName?: string): Promise<number[]> {
    const rows =
      streamName === undefined
        ? await this.executor.all(tokens, { accountId })
        : await this.executor.all(tokensOfStream, { accountId, streamName })
    return rows.map((row) => row.token_id)
  }

  async recentNames(accountId: string, limit: number): Promise<string[]> {
    return (await this.executor.all(recentNames, { accountId, limit })).map(({ name }) => name)
  }

  async openIds(node: string): Promise<string[]> {
    return (await this.executor.all(openIds, { node })).map(({ id }) => id)
  }

  async switched(node: string): Promise<StoredFeed[]> {
    return (await this.executor.all(switched, { node })).map(feedFromRow)
  }

  async remote(node: string, limit: number): Promise<LocatedFeed[]> {
    return (await this.executor.all(remote, { node, limit })).map(feedFromRow)
  }

  broadcasts(query: BroadcastQuery): Promise<Broadcast[]> {
    return pastBroadcasts(this.executor, query)
  }

  recent(query: RecentFeedQuery): Promise<RecentFeed[]> {
    return recentFeeds(this.executor, query)
  }

  async lastEnd({ sourceId, ...stream }: StreamRef & { sourceId: string | null }): Promise<FeedEnd | null> {
    const last =
      sourceId === null
        ? await this.executor.first(lastOfStream, stream)
        : await this.executor.first(lastOfSource, { ...stream, source: sourceId })
    if (typeof last?.end_reason !== 'string') return null
    const { session_id: sessionId, node, end_reason: reason, ended_at_ms: atMs } = last
    return { sessionId, node, reason: readEndReason(reason), atMs: Number(atMs) }
  }

  onAir(query: OnAirQuery): Promise<OnAirFeed[]> {
    return streamsOnAir(this.executor, query)
  }

  async remoteOf(node: string, stream: StreamRef): Promise<LocatedFeed[]> {
    return (await this.executor.all(remoteOf, { node, ...stream })).map(feedFromRow)
  }

  /** Streams are named each by itself: joined to a list of values, PostgreSQL would read all feeds. */
  async openOf(streams: readonly StreamRef[]): Promise<LocatedFeed[]> {
    const rows = await this.executor.askInSlices(streams, (db, slice) =>
      located(db).where((eb) =>
        eb.or(
          slice.map(({ accountId, streamName }) =>
            eb.and({ 'feeds.account_id': accountId, 'feeds.stream_name': streamName }),
          ),
        ),
      ),
    )
    return rows.map(feedFromRow)
  }
}

export class FeedTxVerbs extends FeedReadVerbs {
  /** @throws Conflict when the source is on the air */
  async insert(feed: StoredFeed): Promise<void> {
    await this.executor.run(insert, feedRow(feed))
  }

  /** Locks the stream, not only its rows: a concurrent transaction that begins a feed must see the rows of this one. */
  async lockOpen(stream: StreamRef): Promise<StoredFeed[]> {
    if (this.executor.dialect.name === 'postgres') await this.executor.all(lockStream, { stream: streamIdOf(stream) })
    return (await this.executor.all(lockOpen, stream)).map(feedFromRow)
  }

  async latest({ sourceId, ...stream }: StreamRef & { sourceId: string | null }): Promise<StoredFeed | undefined> {
    const row = await this.executor.first(latest, { ...stream, source: sourceId ?? '' })
    return row && feedFromRow(row)
  }

  async switchRecording(stream: StreamRef, isOn: boolean): Promise<void> {
    await this.executor.run(switchRecording, { ...stream, record: dbFlag(isOn) })
  }

  async settle(stream: StreamRef, latestMs: number, atMs: number): Promise<number | null> {
    const last = (await this.executor.first(lastEnd, stream))?.at ?? null
    if (last === null || last <= latestMs) return last
    await this.executor.run(settle, { ...stream, latestMs, atMs })
    return atMs
  }

  async end(id: string, atMs: number): Promise<StoredFeed | undefined> {
    const row = await this.executor.first(endOne, { id, atMs })
    return row && feedFromRow(row)
  }

  report(reports: readonly FeedReport[]): Promise<void> {
    return reportFeeds(this.executor, reports)
  }

  count(totals: readonly FeedBytes[]): Promise<void> {
    return countFeedBytes(this.executor, totals)
  }

  async endOfSessions(ends: readonly { id: string; atMs: number }[]): Promise<EndedFeed[]> {
    const ended: EndedRow[] = []
    await inSlices(ends, async (slice) => {
      const rows = slice.map(({ id, atMs }) => ({ endingId: id, atMs }))
      ended.push(...(await this.executor.all(endOfSessions, ENDINGS.params(this.executor, rows))))
    })
    return ended.map(fromEndedRow)
  }

  async endOfNode(node: string, atMs: number): Promise<EndedFeed[]> {
    return (await this.executor.all(endOfNode, { node, atMs })).map(fromEndedRow)
  }
}

const fromEndedRow = (row: EndedRow): EndedFeed => ({
  ...feedFromRow(row),
  endedAtMs: row.endedAtMs ?? row.startedAtMs,
})
