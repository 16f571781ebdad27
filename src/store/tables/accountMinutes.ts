import { sql } from 'kysely'
import type { AccountMinute } from '../../core/streams/seriesQuery.ts'
import { statement, Verbs } from '../executor.ts'
import { upsertion } from '../rowTable.ts'
import type { MinuteQuery, StoredMinute } from '../store.ts'
import { pruning } from './pruning.ts'

export class MinuteReadVerbs extends Verbs {
  sum(query: MinuteQuery): Promise<AccountMinute[]> {
    return this.executor.all(sums, query)
  }
}

const put = upsertion({
  table: 'account_minutes',
  key: ['account_id', 'minute_ms', 'node'],
})

export class MinuteTxVerbs extends MinuteReadVerbs {
  /** Each node writes rows of its own, so no order is needed against deadlocks. */
  put(minutes: readonly StoredMinute[]): Promise<void> {
    return put(this.executor, minutes)
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const sums = statement((db, p: MinuteQuery) =>
  db
    .selectFrom('account_minutes')
    .select('minute_ms as minuteMs')
    .select([
      sql<number>`cast(sum(viewers) as bigint)`.as('viewers'),
      sql<number>`cast(sum(bytes_in) as bigint)`.as('bytesIn'),
      sql<number>`cast(sum(bytes_out) as bigint)`.as('bytesOut'),
    ])
    .where('account_id', '=', p.accountId)
    .where('minute_ms', '>=', p.fromMs)
    .where('minute_ms', '<', p.untilMs)
    .groupBy('minute_ms')
    .orderBy('minute_ms'),
)

const prune = pruning('account_minutes', 'minute_ms', ['account_id', 'minute_ms', 'node'])
