import { type RawBuilder, sql } from 'kysely'
import { PROTOCOLS_OF } from '../../core/access/protocols.ts'
import type { NodeUsage } from '../../core/sessions/types.ts'
import type { UsageRow } from '../../core/usage/report.ts'
import { Verbs } from '../executor.ts'
import type { TrackedQuery, TrackingIdUsage, UsageQuery } from '../store.ts'
import { foldNodeUsage, foldSomeOfNode, putNodeUsage } from './nodeUsage.ts'
import { pruning } from './pruning.ts'
import { slotOfHour } from './usage.ts'

/** The SQL expression of each field. */
const FIELDS = {
  slot: slotOfHour,
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

type Sql = RawBuilder<unknown>

const sums = (bytesIn: Sql, bytesOut: Sql, cacheBytes: Sql): Sql[] => [
  sql`cast(coalesce(sum(${bytesIn}), 0) as bigint) as "bytesIn"`,
  sql`cast(coalesce(sum(${bytesOut}), 0) as bigint) as "bytesOut"`,
  sql`cast(coalesce(sum(${cacheBytes}), 0) as bigint) as "bytesFromCaches"`,
]

/** Of the two parts. */
const SUMS = sums(sql.ref('bytesIn'), sql.ref('bytesOut'), sql.ref('bytesFromCaches'))

/**
 * The sums of all nodes, and beside them what each node has not added to them yet. One statement reads both, so that a row
 * which moves from here to there meanwhile counts once. Each part is grouped by itself, in the order of an index.
 */
function bothOf(names: readonly Sql[], part: (table: Sql, cacheBytes: Sql) => Sql): Sql {
  const columns = sql.join([...names, sql.ref('bytesIn'), sql.ref('bytesOut'), sql.ref('bytesFromCaches')])
  return sql`(select ${columns} from (${part(sql.table('usage_hourly'), sql`cache_bytes`)}) as hours
    union all select ${columns} from (${part(sql.table('node_usage'), sql`0`)}) as nodes) as both_of`
}

export class UsageReadVerbs extends Verbs {
  async sum(query: UsageQuery): Promise<UsageRow[]> {
    const { accountId, fromMs, untilMs, groupBy, slot, streamNames, trackingIds, mediaOnly = false, limit } = query
    const names = groupBy.map((name) => sql.ref(name))
    const grouped = sql.join(groupBy.map((_, at) => sql.lit(at + 1)))
    const fields = groupBy.map((name) => sql`${FIELDS[name](slot)} as ${sql.ref(name)}`)
    const bytesIn = mediaOnly ? of('publish', 'bytes_in') : sql`bytes_in`
    const bytesOut = mediaOnly ? of('view', 'bytes_out') : sql`bytes_out`
    const where = sql`where account_id = ${accountId} and hour_ms >= ${fromMs} and hour_ms < ${untilMs}
      ${streamNames ? sql`and stream_name in (${sql.join(streamNames)})` : sql``}
      ${trackingIds ? sql`and tracking_id <> '' and tracking_id in (${sql.join(trackingIds)})` : sql``}
      ${groupBy.length > 0 ? sql`group by ${grouped}` : sql``}`
    const sumsOf = (table: Sql, cacheBytes: Sql) =>
      sql`select ${sql.join([...fields, ...sums(bytesIn, bytesOut, cacheBytes)])} from ${table} ${where}`
    const answer = await this.executor.execute(
      sql`select ${sql.join([...names, ...SUMS])} from ${bothOf(names, sumsOf)}
      ${groupBy.length > 0 ? sql`group by ${grouped} order by ${grouped}` : sql``}
      limit ${limit}`.compile(this.executor.dialect.db),
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
    const where = sql`where account_id = ${accountId} and tracking_id <> '' and tracking_id > ${after}
      and hour_ms >= ${fromMs} and hour_ms < ${untilMs}
      ${prefix === '' ? sql`` : sql`and tracking_id >= ${prefix} and tracking_id < ${`${prefix}\u{10FFFF}`}`}`
    const page = sql`group by 1 order by 1 limit ${limit}`
    const sumsOf = (table: Sql, cacheBytes: Sql) => sql`select tracking_id as "trackingId",
      ${sql.join(sums(sql`bytes_in`, sql`bytes_out`, cacheBytes))} from ${table} ${where} ${page}`
    const answer = await this.executor.execute(
      sql`select "trackingId", ${sql.join(SUMS)} from ${bothOf([sql.ref('trackingId')], sumsOf)} ${page}`.compile(
        this.executor.dialect.db,
      ),
    )
    return answer.rows as TrackingIdUsage[]
  }
}

export class UsageTxVerbs extends UsageReadVerbs {
  put(node: string, usage: readonly NodeUsage[]): Promise<void> {
    return putNodeUsage(this.executor, node, usage)
  }

  fold(node: string, ords: readonly number[]): Promise<void> {
    return foldNodeUsage(this.executor, node, ords)
  }

  foldNode(node: string, limit: number): Promise<number> {
    return foldSomeOfNode(this.executor, node, limit)
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const prune = pruning('usage_hourly', 'hour_ms', [
  'account_id',
  'hour_ms',
  'stream_name',
  'protocol',
  'token_id',
  'tracking_id',
  'country',
])
