import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { postgresDialect, sqliteDialect } from '../../src/store/dialects.ts'
import { everyStatement } from '../../src/store/executor.ts'
import '../../src/store/verbs.ts'

/** A star that stands for columns; others multiply or count. */
const STAR = /(?:\b(?:select|returning|distinct)|,)\s*\*|\.\s*\*/i

test.each([sqliteDialect, postgresDialect])('every prepared statement names its columns, in %o', (engine) => {
  const all = everyStatement(engine)
  expect(all.length).toBeGreaterThan(250)
  expect(all.filter(({ sql }) => STAR.test(sql)).map(({ sql }) => sql)).toEqual([])
  expect(STAR.test('select distinct a.* from a') && STAR.test('returning *')).toBe(true)
})

test('no query of the store asks for whatever columns there are', () => {
  const found = globSync('src/store/**/*.ts')
    .filter((file) => !/migrations|backup/.test(file))
    .filter((file) => /\.(selectAll|returningAll)\(|(select|returning) \*/.test(readFileSync(file, 'utf8')))
  expect(found).toEqual([])
})
