import { type RawBuilder, sql } from 'kysely'
import { PROTOCOLS_OF } from '../../core/access/protocols.ts'
import type { NodeUsage } from '../../core/sessions/types.ts'
import type { UsageRow } from '../../core/usage/report.ts'
import { longestIn, type SlotLength, spansOf } from '../../core/zonedSlots.ts'
import { Verbs } from '../executor.ts'
import type { TrackedQuery, TrackingIdUsage, UsageQuery } from '../store.ts'
import { foldNodeUsage, foldSomeOfNode, putNodeUsage } from './nodeUsage.ts'
import { slotOf, takeHours, longSum } from './usage.ts'

type Field = UsageQuery['groupBy'][number]

/** The column of each field but the slot. */
const COLUMN_OF = {
  streamName: 'stream_name',
  trackingId: 'tracking_id',
  country: 'country',
  protocol: 'protocol',
  tokenId: 'token_id',
} as const satisfies Record<Exclude<Field, 'slot'>, string>

/** What rows of the account have. */
const OF_ACCOUNT: readonly Field[] = ['slot', 'country', 'protocol']

/** The name of each field in a row. */
const named = (field: Field): Sql => sql.ref(field === 'slot' ? 'slotMs' : field)

/** What a row has unless it was grouped by it. */
const BLANK = { slotMs: 0, streamName: '', trackingId: '', country: '' }

/** A column of the rows of publishers, or of viewers. */
const of = (action: keyof typeof PROTOCOLS_OF, column: 'bytes_in' | 'bytes_out') =>
  sql`case when protocol in (${sql.join(PROTOCOLS_OF[action].map((one) => sql.lit(one)))}) then ${sql.ref(column)} else 0 end`

type Sql = RawBuilder<unknown>

/** Of a part. */
const sums = (bytesIn: Sql, bytesOut: Sql, cacheBytes: Sql): Sql[] => [
  sql`cast(coalesce(sum(${bytesIn}), 0) as bigint) as "bytesIn"`,
  sql`cast(coalesce(sum(${bytesOut}), 0) as bigint) as "bytesOut"`,
  sql`cast(coalesce(sum(${cacheBytes}), 0) as bigint) as "bytesFromCaches"`,
]

/** Of all parts. */
const SUMS = ['bytesIn', 'bytesOut', 'bytesFromCaches'].map(
  (name) => sql`${longSum(sql.ref(name))} as ${sql.ref(name)}`,
)

/** A table of sums, or a part of it. */
interface Part {
  readonly table: Sql
  readonly atMs: Sql
  readonly cacheBytes: Sql
  /** Its account and time. */
  readonly where: Sql
  /** Of rows of `usage`; null: the part is of `node_usage`. */
  readonly length: SlotLength | null
}

type Times = Pick<UsageQuery, 'accountId' | 'fromMs' | 'untilMs'>

/** The sums of all nodes in rows that are as long as possible, and beside them what nodes have not added to them yet. */
const partsOf = ({ accountId, fromMs, untilMs }: Times, longest: SlotLength): Part[] => [
  ...spansOf({ fromMs, untilMs }, longest).map(({ length, ...part }) => ({
    table: sql.table('usage'),
    atMs: sql.ref('at_ms'),
    cacheBytes: sql.ref('cache_bytes'),
    where: sql`account_id = ${accountId} and span = ${sql.lit(length)} and at_ms >= ${part.fromMs} and at_ms < ${part.untilMs}`,
    length,
  })),
  {
    table: sql.table('node_usage'),
    atMs: sql.ref('hour_ms'),
    cacheBytes: sql`0`,
    where: sql`account_id = ${accountId} and hour_ms >= ${fromMs} and hour_ms < ${untilMs}`,
    length: null,
  },
]

/** One statement reads all parts, so that a row which moves from one to another meanwhile counts once. */
function allOf(names: readonly Sql[], parts: readonly Sql[]): Sql {
  const columns = sql.join([...names, sql.ref('bytesIn'), sql.ref('bytesOut'), sql.ref('bytesFromCaches')])
  const selects = parts.map((part, at) => sql`select ${columns} from (${part}) as ${sql.ref(`part_${at}`)}`)
  return sql`(${sql.join(selects, sql` union all `)}) as parts`
}

/** Which of its rows a query sums. `usage` has rows of streams, and those of the account, which tell no streams apart. */
function filterOf({ streamNames, trackingIds, groupBy }: UsageQuery, { length }: Part): Sql {
  const named = streamNames && sql`and stream_name in (${sql.join(streamNames)})`
  const tracked = trackingIds && sql`and tracking_id <> '' and tracking_id in (${sql.join(trackingIds)})`
  if (named || tracked) return sql`${named ?? sql``} ${tracked ?? sql``}`
  if (length === null) return sql``
  return groupBy.every((field) => OF_ACCOUNT.includes(field)) ? sql`and stream_name = ''` : sql`and stream_name <> ''`
}

export class UsageReadVerbs extends Verbs {
  async sum(query: UsageQuery): Promise<UsageRow[]> {
    const { groupBy, slots = [], mediaOnly = false, limit } = query
    const names = groupBy.map(named)
    const grouped = sql.join(groupBy.map((_, at) => sql.lit(at + 1)))
    const bytesIn = mediaOnly ? of('publish', 'bytes_in') : sql`bytes_in`
    const bytesOut = mediaOnly ? of('view', 'bytes_out') : sql`bytes_out`
    const group = groupBy.length > 0 ? sql`group by ${grouped}` : sql``
    const parts = partsOf(query, groupBy.includes('slot') ? longestIn(slots) : 'month').map((part) => {
      const valueOf = (name: Field) =>
        name === 'slot' ? slotOf(part.atMs, query, part.length ?? 'hour') : sql.ref(COLUMN_OF[name])
      const fields = groupBy.map((name) => sql`${valueOf(name)} as ${named(name)}`)
      const columns = sql.join([...fields, ...sums(bytesIn, bytesOut, part.cacheBytes)])
      return sql`select ${columns} from ${part.table} where ${part.where} ${filterOf(query, part)} ${group}`
    })
    const rows = await this.executor.ask(
      () => sql<UsageRow>`select ${sql.join([...names, ...SUMS])} from ${allOf(names, parts)}
      ${groupBy.length > 0 ? sql`${group} order by ${grouped}` : sql``}
      limit ${limit}`,
    )
    return rows.map((row) => ({ ...BLANK, ...row }))
  }

  /**
   * Months are read in the order of the tracking ids, so that the search ends with the page. Hours and days are few there, but not
   * in that order, where each id has all of its time: an expression keeps databases from its index.
   */
  tracked(query: TrackedQuery): Promise<TrackingIdUsage[]> {
    const { prefix, after, limit } = query
    const where = (id: Sql) => sql`tracking_id <> '' and ${id} > ${after}
      ${prefix === '' ? sql`` : sql`and ${id} >= ${prefix} and ${id} < ${`${prefix}\u{10FFFF}`}`}`
    const idIn = ({ length }: Part) => (length === 'month' ? sql`tracking_id` : sql`tracking_id || ''`)
    const page = sql`group by 1 order by 1 limit ${limit}`
    const parts = partsOf(query, 'month').map(
      (
        part,
      ) => sql`select tracking_id as "trackingId", ${sql.join(sums(sql`bytes_in`, sql`bytes_out`, part.cacheBytes))}
        from ${part.table} where ${part.where} and ${where(idIn(part))} ${page}`,
    )
    const all = allOf([sql.ref('trackingId')], parts)
    return this.executor.ask(() => sql<TrackingIdUsage>`select "trackingId", ${sql.join(SUMS)} from ${all} ${page}`)
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
    return (await takeHours(this.executor, sql`old.at_ms < ${beforeMs}`, limit)).length
  }
}
