import { sql } from 'kysely'
import { Verbs } from '../executor.ts'
import { upsertion } from '../rowTable.ts'
import type { RestreamHour, RestreamHourQuery, RestreamSum } from '../store.ts'
import { pruning } from './pruning.ts'
import { slotOf, longSum } from './usage.ts'

/** The SQL expression of each field. */
const FIELDS = {
  slotMs: (query: RestreamHourQuery) => slotOf(sql.ref('hour_ms'), query),
  streamName: () => sql`stream_name`,
}

export class RestreamHourReadVerbs extends Verbs {
  async sum(query: RestreamHourQuery): Promise<RestreamSum[]> {
    const { accountId, fromMs, untilMs, groupBy, streamNames, limit } = query
    const fields = groupBy.map((name) => ({ name, value: FIELDS[name](query) }))
    const grouped = sql.join(fields.map((_, at) => sql.lit(at + 1)))
    const rows = await this.executor.ask(
      () => sql<Partial<RestreamSum>>`select ${sql.join([
        ...fields.map(({ name, value }) => sql`${value} as ${sql.ref(name)}`),
        sql`${longSum(sql.ref('live_ms'))} as "liveMs"`,
        sql`${longSum(sql.ref('bytes_in'))} as "bytesIn"`,
        sql`${longSum(sql.ref('bytes_out'))} as "bytesOut"`,
      ])}
      from restream_hourly
      where account_id = ${accountId} and hour_ms >= ${fromMs} and hour_ms < ${untilMs}
      ${streamNames ? sql`and stream_name in (${sql.join(streamNames)})` : sql``}
      ${fields.length > 0 ? sql`group by ${grouped} order by ${grouped}` : sql``}
      limit ${limit}`,
    )
    const blank = { slotMs: 0, streamName: '' }
    const sums = { liveMs: 0, bytesIn: 0, bytesOut: 0 }
    return rows.map((row) => ({ ...blank, ...sums, ...row }))
  }
}

const put = upsertion({
  table: 'restream_hourly',
  key: ['account_id', 'hour_ms', 'stream_name', 'feed_id'],
})

export class RestreamHourTxVerbs extends RestreamHourReadVerbs {
  /** Each feed has one node, so no order is needed against deadlocks. */
  put(hours: readonly RestreamHour[]): Promise<void> {
    return put(this.executor, hours)
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const prune = pruning('restream_hourly', 'hour_ms', ['account_id', 'hour_ms', 'stream_name', 'feed_id'])
