import { type ExpressionBuilder, sql } from 'kysely'
import { inserted, insertion, inSlices, statement, Verbs } from '../executor.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { columnsOf, type DB, namesOf, namesWithoutId, type RowOf } from '../schema.ts'
import type { RestreamEvent, RestreamEventQuery } from '../store.ts'

type EventBuilder = ExpressionBuilder<DB & { event: DB['restream_events'] }, 'event'>

/** Whether its target has another status since. */
const isPast = (eb: EventBuilder) =>
  eb.exists(
    eb
      .selectFrom('restream_events as later')
      .select(sql`1`.as('one'))
      .whereRef('later.feed_id', '=', 'event.feed_id')
      .whereRef('later.ord', '=', 'event.ord')
      .whereRef('later.id', '>', 'event.id'),
  )

const isOff = (eb: EventBuilder) => eb('event.status', '=', 'off')

const EVENT_COLUMNS = namesOf('restream_events').map((column) => `event.${column}` as const)

const insertAll = insertion('restream_events', namesWithoutId('restream_events'))

const trim = statement((db, p: { feedId: string; keep: number }) =>
  db.deleteFrom('restream_events').where('id', 'in', (query) =>
    query
      .selectFrom('restream_events as event')
      .select('event.id')
      .where('event.feed_id', '=', p.feedId)
      .where(isPast)
      .where('event.id', '<=', (eb) =>
        eb
          .selectFrom('restream_events as newer')
          .select('newer.id')
          .where('newer.feed_id', '=', p.feedId)
          .orderBy('newer.id', 'desc')
          .limit(1)
          .offset(p.keep),
      ),
  ),
)

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db.deleteFrom('restream_events').where('id', 'in', (query) =>
    query
      .selectFrom('restream_events as event')
      .select('event.id')
      .where('event.at_ms', '<', p.beforeMs)
      .where((eb) => eb.or([isOff(eb), isPast(eb)]))
      .limit(p.limit),
  ),
)

export class RestreamEventReadVerbs extends Verbs {
  async page({ accountId, streamName, before, limit }: RestreamEventQuery): Promise<RestreamEvent[]> {
    const rows = await this.executor.ask((db) => {
      const ofStream = db
        .selectFrom('restream_events')
        .select(columnsOf('restream_events'))
        .where('account_id', '=', accountId)
        .where('stream_name', '=', streamName)
      const page = before === undefined ? ofStream : ofStream.where('id', '<', before)
      return page.orderBy('id', 'desc').limit(limit)
    })
    return rows.map(fromRow)
  }

  async ofFeeds(accountId: string, feedIds: readonly string[]): Promise<RestreamEvent[]> {
    const rows: RowOf<'restream_events'>[] = []
    await inSlices(feedIds, async (slice) => {
      const found = await this.executor.ask((db) =>
        db
          .selectFrom('restream_events')
          .select(columnsOf('restream_events'))
          .where('feed_id', 'in', slice)
          .where('account_id', '=', accountId)
          .orderBy('id'),
      )
      rows.push(...found)
    })
    return rows.map(fromRow)
  }
}

export class RestreamEventTxVerbs extends RestreamEventReadVerbs {
  async unfinished(feedIds: readonly string[]): Promise<RestreamEvent[]> {
    const rows: RowOf<'restream_events'>[] = []
    await inSlices(feedIds, async (slice) => {
      const found = await this.executor.ask((db) =>
        db
          .selectFrom('restream_events as event')
          .select(EVENT_COLUMNS)
          .where('event.feed_id', 'in', slice)
          .where((eb) => eb.not(eb.or([isOff(eb), isPast(eb)])))
          .orderBy('event.id'),
      )
      rows.push(...found)
    })
    return rows.map(fromRow)
  }

  async add(event: Omit<RestreamEvent, 'id'>, keep: number): Promise<number> {
    const row = inserted(
      await this.executor.ask((db) => db.insertInto('restream_events').values(toRow(event)).returning('id')),
    )
    await this.executor.run(trim, { feedId: event.feedId, keep })
    return row.id
  }

  async addAll(events: readonly Omit<RestreamEvent, 'id'>[], keep: number): Promise<void> {
    await insertAll(this.executor, events.map(toRow))
    for (const feedId of new Set(events.map((event) => event.feedId))) await this.executor.run(trim, { feedId, keep })
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const toRow = (event: Omit<RestreamEvent, 'id'>) => ({
  account_id: event.accountId,
  stream_name: event.streamName,
  feed_id: event.feedId,
  ord: event.index,
  label: event.label,
  url: event.url,
  status: event.status,
  problem: event.problem && saidColumn(event.problem),
  at_ms: event.atMs,
})

const fromRow = (row: RowOf<'restream_events'>): RestreamEvent => ({
  id: row.id,
  accountId: row.account_id,
  streamName: row.stream_name,
  feedId: row.feed_id,
  index: row.ord,
  label: row.label,
  url: row.url,
  status: row.status,
  problem: saidFrom(row.problem),
  atMs: row.at_ms,
})
