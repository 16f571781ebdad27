import { type RawBuilder, sql } from 'kysely'
import { DAY_MS } from '../../base/time.ts'
import type { Executor } from '../executor.ts'
import { upsertion } from '../rowTable.ts'
import type { RowOf } from '../schema.ts'
import type { UsageQuery } from '../usage.ts'

/** The slot of a row by hour. */
export const slotOfHour = (slot: UsageQuery['slot']): RawBuilder<unknown> =>
  slot === 'hour' ? sql`hour_ms` : sql`hour_ms - hour_ms % ${sql.lit(DAY_MS)}`

type Hour = RowOf<'usage_hourly'>

/**
 * Adds to the hourly sums: one row for each stream, protocol, token, tracking id, country and hour. All nodes write to the
 * rows of a popular stream, so this comes last in its transaction: the rows stay locked until the commit.
 */
export async function addToHours(executor: Executor, rises: readonly Hour[]): Promise<void> {
  const hours = new Map<string, Hour>()
  for (const { bytes_in, bytes_out, cache_bytes, ...key } of rises) {
    const text = JSON.stringify(Object.values(key))
    const sum = hours.get(text) ?? { bytes_in: 0, bytes_out: 0, cache_bytes: 0 }
    hours.set(text, {
      ...key,
      bytes_in: sum.bytes_in + bytes_in,
      bytes_out: sum.bytes_out + bytes_out,
      cache_bytes: sum.cache_bytes + cache_bytes,
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
