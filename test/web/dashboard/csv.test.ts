import { expect, it } from 'vitest'
import { csvOf } from '../../../web/dashboard/src/pages/analytics/csv.ts'

it('writes a table in which no spreadsheet finds a formula, whatever separates its cells', () => {
  const row = ['show', '=1+1', '-5', '＠x', 'a;=1', 'a\n+1', 'a;"=1"', 'a;b', -5]
  const written = ['show', "'=1+1", "'-5", "'＠x", "a;'=1", `"a\n'+1"`, `"a;'""=1"""`, 'a;b', '-5']
  expect(csvOf([row])).toBe(`${written.join()}\r\n`)
})
