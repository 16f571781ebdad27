import { type RawBuilder, sql } from 'kysely'
import { DAY_MS } from '../../base/time.ts'
import type { Executor } from '../executor.ts'
import type { FieldsOf } from '../records.ts'
import { upsertion } from '../rowTable.ts'
import type { UsageQuery } from '../usage.ts'

/** The slot of a row by hour. */
export const slotOfHour = (slot: UsageQuery['slot']): RawBuilder<unknown> =>
  slot === 'hour' ? sql`hour_ms` : sql`hour_ms - hour_ms % ${sql.lit(DAY_MS)}`

export type UsageHour = FieldsOf<'usage_hourly'>

/**
 * Adds to the hourly sums: one row for each stream, protocol, token, tracking id, country and hour. All nodes write to the
 * rows of a popular stream, so this comes last in its transaction: the rows stay locked until the commit.
 */
export async function addToHours(executor: Executor, rises: readonly UsageHour[]): Promise<void> {
  const hours = new Map<string, UsageHour>()
  for (const { bytesIn, bytesOut, cacheBytes, ...key } of rises) {
    const text = JSON.stringify(Object.values(key))
    const sum = hours.get(text) ?? { bytesIn: 0, bytesOut: 0, cacheBytes: 0 }
    hours.set(text, {
      ...key,
      bytesIn: sum.bytesIn + bytesIn,
      bytesOut: sum.bytesOut + bytesOut,
      cacheBytes: sum.cacheBytes + cacheBytes,
    })
  }
  // Sorted, so that two nodes that add to the same rows cannot deadlock.
  const sorted = [...hours].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, hour]) => hour)
  await add(executor, sorted)
}

const add = upsertion({
  table: 'usage_hourly',
  key: ['account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'],
  merged: (before, now) => sql`${before} + ${now}`,
})
