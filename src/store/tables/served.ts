import { sql } from 'kysely'
import { inSlices, Verbs } from '../executor.ts'
import { rowOf } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { ServedBytes, ServedQuery, ServedSum } from '../store.ts'
import { matching } from './keyset.ts'
import { pruning } from './pruning.ts'
import { longSum } from './usage.ts'

const COLUMNS = namesOf('distribution_bytes')

export class ServedReadVerbs extends Verbs {
  async sum(query: ServedQuery): Promise<ServedSum[]> {
    const { channelId, distributionId, distributionIds, fromMs, untilMs, groupBy, viewed, afterTrackingId, limit } =
      query
    const selected = groupBy.map((name) => sql`${FIELDS[name](query)} as ${sql.ref(name)}`)
    const grouped = sql.join(groupBy.map((_, at) => sql.lit(at + 1)))
    const rows = await this.executor.ask(
      () => sql<Partial<ServedSum>>`select ${sql.join([...selected, ...SUMS])}
      from distribution_bytes
      where slot_ms >= ${fromMs} and slot_ms < ${untilMs}
      ${channelId === undefined ? sql`` : sql`and channel_id = ${channelId}`}
      ${distributionId === undefined ? sql`` : sql`and distribution_id = ${distributionId}`}
      ${distributionIds === undefined ? sql`` : sql`and distribution_id in (${sql.join(distributionIds)})`}
      ${viewed ? sql`and viewed_ms > 0` : sql``}
      ${afterTrackingId === undefined ? sql`` : sql`and tracking_id > ${afterTrackingId}`}
      group by ${grouped} order by ${grouped} limit ${limit}`,
    )
    const blank = { slotMs: 0, distributionId: '', country: '', trackingId: '' }
    const sums = { bytesOut: 0, bytesFromCaches: 0, viewedMs: 0 }
    return rows.map((row) => ({ ...blank, ...sums, ...row }))
  }

  async exists(accountId: string, of: { channelId: string } | { distributionId: string }): Promise<boolean> {
    const which = 'channelId' in of ? { channel_id: of.channelId } : { distribution_id: of.distributionId }
    const found = await this.executor.ask((db) =>
      matching(db.selectFrom('distribution_bytes').select('slot_ms').limit(1), { account_id: accountId, ...which }),
    )
    return found.length > 0
  }
}

export class ServedTxVerbs extends ServedReadVerbs {
  async add(rows: readonly ServedBytes[]): Promise<void> {
    // Sorted, so that two nodes that add to the same rows cannot deadlock.
    const values = rows
      .toSorted(byKey)
      .map((row) => rowOf('distribution_bytes', COLUMNS, { ...row, cacheBytes: row.bytesFromCaches ?? 0 }))
    await inSlices(values, (slice) =>
      this.executor.change((db) =>
        db
          .insertInto('distribution_bytes')
          .values(slice)
          .onConflict((c) =>
            c.columns(['distribution_id', 'slot_ms', 'country', 'tracking_id']).doUpdateSet({
              bytes_out: sql`distribution_bytes.bytes_out + excluded.bytes_out`,
              viewed_ms: sql`distribution_bytes.viewed_ms + excluded.viewed_ms`,
              cache_bytes: sql`distribution_bytes.cache_bytes + excluded.cache_bytes`,
            }),
          ),
      ),
    )
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

function byKey(a: ServedBytes, b: ServedBytes): number {
  const [left, right] = [a, b].map((row) =>
    JSON.stringify([row.distributionId, row.slotMs, row.country, row.trackingId]),
  )
  return (left ?? '') < (right ?? '') ? -1 : 1
}

/** The SQL expression of each field. */
const FIELDS = {
  slotMs: ({ slot: { stepMs, offsetMs } }: ServedQuery) =>
    sql`slot_ms - (slot_ms + cast(${offsetMs} as bigint)) % cast(${stepMs} as bigint)`,
  distributionId: () => sql`distribution_id`,
  country: () => sql`country`,
  trackingId: () => sql`tracking_id`,
}

const SUMS = [
  sql`${longSum(sql.ref('bytes_out'))} as "bytesOut"`,
  sql`${longSum(sql.ref('cache_bytes'))} as "bytesFromCaches"`,
  sql`${longSum(sql.ref('viewed_ms'))} as "viewedMs"`,
]

const prune = pruning('distribution_bytes', 'slot_ms', ['distribution_id', 'slot_ms', 'country', 'tracking_id'])
