import { sql } from 'kysely'
import type { AccountMinute } from '../../core/streams/seriesQuery.ts'
import { statement, Verbs } from '../executor.ts'
import { upsertion } from '../rowTable.ts'
import type { MinuteQuery, StoredMinute } from '../store.ts'
import { pruning } from './pruning.ts'

export class MinuteReadVerbs extends Verbs {
  async sum(query: MinuteQuery): Promise<AccountMinute[]> {
    const rows = await this.executor.all(sums, query)
    return rows.map((row) => ({
      minuteMs: row.minute_ms,
      viewers: row.viewers,
      bytesIn: row.bytes_in,
      bytesOut: row.bytes_out,
    }))
  }
}

const put = upsertion({
  table: 'account_minutes',
  key: ['account_id', 'minute_ms', 'node'],
})

export class MinuteTxVerbs extends MinuteReadVerbs {
  /** Each node writes rows of its own, so no order is needed against deadlocks. */
  async put(minutes: readonly StoredMinute[]): Promise<void> {
    const rows = minutes.map((row) => ({
      account_id: row.accountId,
      minute_ms: row.minuteMs,
      node: row.node,
      viewers: row.viewers,
      bytes_in: row.bytesIn,
      bytes_out: row.bytesOut,
    }))
    await put(this.executor, rows)
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const sums = statement((db, p: MinuteQuery) =>
  db
    .selectFrom('account_minutes')
    .select('minute_ms')
    .select([
      sql<number>`cast(sum(viewers) as bigint)`.as('viewers'),
      sql<number>`cast(sum(bytes_in) as bigint)`.as('bytes_in'),
      sql<number>`cast(sum(bytes_out) as bigint)`.as('bytes_out'),
    ])
    .where('account_id', '=', p.accountId)
    .where('minute_ms', '>=', p.fromMs)
    .where('minute_ms', '<', p.untilMs)
    .groupBy('minute_ms')
    .orderBy('minute_ms'),
)

const prune = pruning('account_minutes', 'minute_ms', ['account_id', 'minute_ms', 'node'])
