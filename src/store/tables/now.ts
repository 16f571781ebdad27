import { type RawBuilder, sql } from 'kysely'
import type { DialectName } from '../executor.ts'

/**
 * The time of the database, epoch milliseconds: the one clock that all nodes share. Leases are written and judged with
 * it, inside the statement, so that no node's own clock has a part in it. Not the time at which the transaction began.
 */
export const databaseTime = (engine: DialectName): RawBuilder<number> =>
  engine === 'postgres'
    ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<number>`cast(round(unixepoch('now', 'subsec') * 1000) as integer)`

/** When a lease of this length, taken now, runs out. */
export const leaseEnd = (engine: DialectName, leaseMs: number): RawBuilder<number> =>
  sql<number>`${databaseTime(engine)} + cast(${leaseMs} as bigint)`
