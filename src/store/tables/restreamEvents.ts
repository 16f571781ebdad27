import { type ExpressionBuilder, sql } from 'kysely'
import { inserted, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion, rowOf } from '../records.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { type DB, namesWithout } from '../schema.ts'
import type { RestreamEvent, RestreamEventQuery } from '../store.ts'

type EventBuilder = ExpressionBuilder<DB, 'restream_events'>

/** Whether its target has another status since. */
const isPast = (eb: EventBuilder) =>
  eb.exists(
    eb
      .selectFrom('restream_events as later')
      .select(sql`1`.as('one'))
      .whereRef('later.feed_id', '=', 'restream_events.feed_id')
      .whereRef('later.ord', '=', 'restream_events.ord')
      .whereRef('later.id', '>', 'restream_events.id'),
  )

const isOff = (eb: EventBuilder) => eb('restream_events.status', '=', 'off')

const WRITTEN = namesWithout('restream_events', 'id')

const insertAll = insertion('restream_events', WRITTEN)

const trim = statement((db, p: { feedId: string; keep: number }) =>
  db.deleteFrom('restream_events').where('id', 'in', (query) =>
    query
      .selectFrom('restream_events')
      .select('restream_events.id')
      .where('restream_events.feed_id', '=', p.feedId)
      .where(isPast)
      .where('restream_events.id', '<=', (eb) =>
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
      .selectFrom('restream_events')
      .select('restream_events.id')
      .where('restream_events.at_ms', '<', p.beforeMs)
      .where((eb) => eb.or([isOff(eb), isPast(eb)]))
      .limit(p.limit),
  ),
)

export class RestreamEventReadVerbs extends Verbs {
  async page({ accountId, streamName, before, limit }: RestreamEventQuery): Promise<RestreamEvent[]> {
    const rows = await this.executor.ask((db) => {
      const ofStream = db
        .selectFrom('restream_events')
        .select(fieldsOf('restream_events'))
        .where('account_id', '=', accountId)
        .where('stream_name', '=', streamName)
      const page = before === undefined ? ofStream : ofStream.where('id', '<', before)
      return page.orderBy('id', 'desc').limit(limit)
    })
    return rows.map(fromRow)
  }

  async ofFeeds(accountId: string, feedIds: readonly string[]): Promise<RestreamEvent[]> {
    const rows = await this.executor.askInSlices(feedIds, (db, slice) =>
      db
        .selectFrom('restream_events')
        .select(fieldsOf('restream_events'))
        .where('feed_id', 'in', slice)
        .where('account_id', '=', accountId)
        .orderBy('id'),
    )
    return rows.map(fromRow)
  }
}

export class RestreamEventTxVerbs extends RestreamEventReadVerbs {
  async unfinished(feedIds: readonly string[]): Promise<RestreamEvent[]> {
    const rows = await this.executor.askInSlices(feedIds, (db, slice) =>
      db
        .selectFrom('restream_events')
        .select(fieldsOf('restream_events'))
        .where('feed_id', 'in', slice)
        .where((eb) => eb.not(eb.or([isOff(eb), isPast(eb)])))
        .orderBy('id'),
    )
    return rows.map(fromRow)
  }

  async add(event: Omit<RestreamEvent, 'id'>, keep: number): Promise<number> {
    const row = inserted(
      await this.executor.ask((db) =>
        db
          .insertInto('restream_events')
          .values(rowOf('restream_events', WRITTEN, toRow(event)))
          .returning('id'),
      ),
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

const toRow = ({ index, ...event }: Omit<RestreamEvent, 'id'>) => ({
  ...event,
  ord: index,
  problem: event.problem && saidColumn(event.problem),
})

const fromRow = ({ ord, ...row }: FieldsOf<'restream_events'>): RestreamEvent => ({
  ...row,
  index: ord,
  problem: saidFrom(row.problem),
})
