import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readEndReason, SESSION_END_REASONS } from '../../../src/core/sessions/endReason.ts'

test('a reason is read as it was written, and one of another version as unknown', () => {
  expect(SESSION_END_REASONS.map(readEndReason)).toEqual(SESSION_END_REASONS)
  expect(['', 'Left', 'from_the_future', 'constructor'].map(readEndReason)).toEqual(Array(4).fill('unknown'))
})

test('the page on logs explains each reason and no other', () => {
  const page = readFileSync(new URL('../../../docs/reference/logs.md', import.meta.url), 'utf8')
  const table = page.split('<!-- end reasons -->')[1]?.split('\n## ')[0] ?? ''
  const firstCells = [...table.matchAll(/^\|([^|]+)\|/gm)].slice(2).map(([, cell = '']) => cell)
  expect(firstCells.flatMap((cell) => cell.match(/\w+/g) ?? []).toSorted()).toEqual(SESSION_END_REASONS.toSorted())
})
