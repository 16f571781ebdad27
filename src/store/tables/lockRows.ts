import type { SelectQueryBuilder } from 'kysely'
import type { DialectName } from '../executor.ts'

/**
 * As PostgreSQL names them; with `skip locked` a row that another transaction has locked is left out. `no key update` is for rows
 * that are not deleted: unlike `update` it keeps none waiting who writes a child of the row.
 */
export type RowLock = 'update' | 'update skip locked' | 'no key update' | 'share' | 'key share'

/**
 * Locks the rows that a query finds until its transaction ends; with `of` those of one table of a join. SQLite has no row
 * locks and needs none: a writing transaction has the whole database to itself.
 */
export function lockRows<D, T extends keyof D, O>(
  dialect: DialectName,
  query: SelectQueryBuilder<D, T, O>,
  lock: RowLock,
  of?: T & string,
): SelectQueryBuilder<D, T, O> {
  if (dialect === 'sqlite') return query
  switch (lock) {
    case 'update':
      return of === undefined ? query.forUpdate() : query.forUpdate(of)
    case 'update skip locked':
      return query.forUpdate().skipLocked()
    case 'no key update':
      return query.forNoKeyUpdate()
    case 'share':
      return query.forShare()
    case 'key share':
      return query.forKeyShare()
  }
}
