import { sql } from 'kysely'
import { PROTOCOLS_OF } from '../../core/access/protocols.ts'
import type { UsageRow } from '../../core/usage/report.ts'
import { statement, Verbs } from '../executor.ts'
import type { TrackedQuery, TrackingIdUsage, UsageQuery } from '../store.ts'

/** The SQL expression of each field. */
const FIELDS = {
  slot: (slot: UsageQuery['slot']) => (slot === 'hour' ? sql`hour_ms` : sql`hour_ms - hour_ms % 86400000`),
  streamName: () => sql`stream_name`,
  trackingId: () => sql`tracking_id`,
  country: () => sql`country`,
  protocol: () => sql`protocol`,
  tokenId: () => sql`token_id`,
}

interface Sum {
  slot?: number
  streamName?: string
  trackingId?: string
  country?: string
  protocol?: string
  tokenId?: number
  bytesIn: number
  bytesOut: number
  bytesFromCaches: number
}

/** A column of the rows of publishers, or of viewers. */
const of = (action: keyof typeof PROTOCOLS_OF, column: 'bytes_in' | 'bytes_out') =>
  sql`case when protocol in (${sql.join(PROTOCOLS_OF[action].map((one) => sql.lit(one)))}) then ${sql.ref(column)} else 0 end`

/** The reads of usage. */
export class UsageReadVerbs extends Verbs {
  async sum(query: UsageQuery): Promise<UsageRow[]> {
    const { accountId, fromMs, untilMs, groupBy, slot, streamNames, trackingIds, mediaOnly = false, limit } = query
    const fields = groupBy.map((name) => ({ name, value: FIELDS[name](slot) }))
    const selected = fields.map(({ name, value }) => sql`${value} as ${sql.ref(name)}`)
    const grouped = sql.join(fields.map((_, at) => sql.lit(at + 1)))
    const answer = await this.executor.execute(
      sql`select ${sql.join([
        ...selected,
        sql`cast(coalesce(sum(${mediaOnly ? of('publish', 'bytes_in') : sql`bytes_in`}), 0) as bigint) as "bytesIn"`,
        sql`cast(coalesce(sum(${mediaOnly ? of('view', 'bytes_out') : sql`bytes_out`}), 0) as bigint) as "bytesOut"`,
        sql`cast(coalesce(sum(cache_bytes), 0) as bigint) as "bytesFromCaches"`,
      ])}
      from usage_hourly
      where account_id = ${accountId} and hour_ms >= ${fromMs} and hour_ms < ${untilMs}
      ${streamNames ? sql`and stream_name in (${sql.join(streamNames)})` : sql``}
      ${trackingIds ? sql`and tracking_id <> '' and tracking_id in (${sql.join(trackingIds)})` : sql``}
      ${fields.length > 0 ? sql`group by ${grouped} order by ${grouped}` : sql``}
      limit ${limit}`.compile(this.executor.engine.db),
    )
    return (answer.rows as Sum[]).map(({ slot: slotMs = 0, ...sum }) => ({
      slotMs,
      streamName: '',
      trackingId: '',
      country: '',
      ...sum,
    }))
  }

  /** In the order of the index, which ends the search with the page. */
  async tracked(query: TrackedQuery): Promise<TrackingIdUsage[]> {
    const { accountId, fromMs, untilMs, prefix, after, limit } = query
    const answer = await this.executor.execute(
      sql`select tracking_id as "trackingId",
        cast(sum(bytes_in) as bigint) as "bytesIn", cast(sum(bytes_out) as bigint) as "bytesOut",
        cast(sum(cache_bytes) as bigint) as "bytesFromCaches"
      from usage_hourly
      where account_id = ${accountId} and tracking_id <> '' and tracking_id > ${after}
      and hour_ms >= ${fromMs} and hour_ms < ${untilMs}
      ${prefix === '' ? sql`` : sql`and tracking_id >= ${prefix} and tracking_id < ${`${prefix}\u{10FFFF}`}`}
      group by tracking_id order by tracking_id limit ${limit}`.compile(this.executor.engine.db),
    )
    return answer.rows as TrackingIdUsage[]
  }
}

/** The verbs of usage in a transaction. */
export class UsageTxVerbs extends UsageReadVerbs {
  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db
    .deleteFrom('usage_hourly')
    .where((eb) =>
      eb(
        eb.refTuple('account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id'),
        'in',
        eb
          .selectFrom('usage_hourly as old')
          .select(['old.account_id', 'old.hour_ms', 'old.stream_name', 'old.protocol', 'old.token_id'])
          .where('old.hour_ms', '<', p.beforeMs)
          .limit(p.limit)
          .$asTuple('account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id'),
      ),
    ),
)
