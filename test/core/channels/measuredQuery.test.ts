import { expect, test } from 'vitest'
import { readMeasuredQuery } from '../../../src/core/channels/measuredQuery.ts'

const NOW = Date.UTC(2026, 0, 1, 12)
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString()
const read = (query: Record<string, unknown>) => readMeasuredQuery(query, NOW)

test.each([
  ['nothing', {}, [-60 + 0.001, 0.001]],
  ['a start', { start: at(-300) }, [-300, -240]],
  ['an end', { end: at(-10) }, [-70, -10]],
  ['both', { start: at(-120), end: at(-119) }, [-120, -119]],
  ['a minute', { start: at(-60), end: at(0) }, [-60, 0]],
  ['a start that was within five minutes when it was sent', { start: at(-305) }, [-305, -245]],
  ['a start of a clock that is ahead', { start: at(5) }, [5, 65]],
])('%s is a valid span', (_name, query, [from = 0, until = 0]) => {
  expect(read(query)).toEqual({ ok: true, value: { fromMs: NOW + from * 1000, untilMs: NOW + until * 1000 } })
})

test.each([
  ['no moment', { start: 'yesterday' }, ['start']],
  ['the wrong way round', { start: at(-10), end: at(-20) }, ['end']],
  ['empty', { start: at(-10), end: at(-10) }, ['end']],
  ['longer than a minute', { start: at(-120), end: at(-59) }, ['end']],
  ['more than five minutes ago', { start: at(-305.001) }, ['start']],
  ['an end of six minutes ago', { end: at(-360) }, ['end']],
  ['an end that goes back behind five minutes', { end: at(-260) }, ['end']],
  ['yet to come', { start: at(5.001) }, ['start']],
  ['something else', { period: 'hour' }, ['period']],
])('%s is refused by name', (_name, query, fields) => {
  const refused = read(query)
  expect(refused.ok ? [] : Object.keys(refused.error)).toEqual(fields)
})
