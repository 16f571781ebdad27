import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { LEASE_END_MAX_MS } from '../../base/time.ts'
import type { DialectName } from '../executor.ts'

/**
 * The time of the database, epoch milliseconds: the clock that all nodes share. Statements write and check leases with it,
 * so that no node's own clock matters. It is the current time, not that of the begin of the transaction.
 */
export const databaseTime = (dialect: DialectName): RawBuilder<number> =>
  dialect === 'postgres'
    ? sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
    : sql<number>`cast(round(unixepoch('now', 'subsec') * 1000) as integer)`

/** The end of a lease of this length that begins now. */
export const leaseEnd = (dialect: DialectName, leaseMs: number): RawBuilder<number> =>
  sql<number>`${databaseTime(dialect)} + cast(${leaseMs} as bigint)`

/**
 * Whether a lease is over. One that seems to last longer than any was written before the time of the database was set back, and
 * its holder has not renewed it since. Null: there is none.
 */
export const isLeaseOver = (dialect: DialectName, column: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`coalesce(${sql.ref(column)}, 0) - ${databaseTime(dialect)}
    not between 0 and ${sql.lit(LEASE_END_MAX_MS)}`
