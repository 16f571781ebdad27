import { expect, test } from 'vitest'
import { postgresDialect, sqliteDialect } from '../../../src/store/dialects.ts'
import type { SqlDialect } from '../../../src/store/executor.ts'
import { lockRows, type RowLock } from '../../../src/store/tables/lockRows.ts'

const locked = ({ db, name }: SqlDialect, lock: RowLock, of?: 'tokens') =>
  lockRows(name, db.selectFrom('tokens').select('id'), lock, of).compile().sql

test.each([
  ['update', 'for update'],
  ['update skip locked', 'for update skip locked'],
  ['share', 'for share'],
  ['key share', 'for key share'],
] as const)('the lock %s is written for PostgreSQL, and left out for SQLite', (lock, written) => {
  const query = 'select "id" from "tokens"'
  expect(locked(postgresDialect, lock)).toBe(`${query} ${written}`)
  expect(locked(sqliteDialect, lock)).toBe(query)
})

test('of a join one table alone can be locked', () => {
  expect(locked(postgresDialect, 'update', 'tokens')).toMatch(/ for update of "tokens"$/)
})
