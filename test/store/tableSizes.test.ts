import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { countTables, measureTables } from '../../src/store/sqlite/inspection/tables.ts'

/** Two tables, one without row ids, each with an index and more rows than fit a page. */
function database(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec('create table kysely_migration (name text); create table a (x text, y text); create index by_y on a (y)')
  db.exec('create table b (x text primary key, y text) without rowid; create index by_x on b (y)')
  for (const name of ['a', 'b'])
    db.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
      insert into ${name} select i, hex(zeroblob(50)) from n`)
  return db
}

test('all rows and bytes of SQLite tables are measured, with their indexes, and not those of others', () => {
  const sizes = measureTables(database(), 1000) ?? expect.fail()
  expect(sizes.map(({ name, rows, hasMore }) => [name, rows, hasMore])).toEqual([
    ['a', 500, false],
    ['b', 500, false],
  ])
  // A row is 100 characters, and so is its entry in the index.
  for (const { bytes } of sizes) expect(bytes).toBeGreaterThan(500 * 2 * 100)
})

test('of a database that is too large to read, rows are counted up to a bound', () => {
  const db = database()
  expect(measureTables(db, 10)).toBeNull()
  expect(countTables(db, 500)).toContainEqual({ name: 'b', rows: 500, hasMore: false, bytes: null })
  expect(countTables(db, 499)).toContainEqual({ name: 'b', rows: 499, hasMore: true, bytes: null })
})
