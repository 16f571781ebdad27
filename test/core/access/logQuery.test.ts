import { expect, test } from 'vitest'
import { readAccessLogQuery, readAccessSummaryQuery } from '../../../src/core/access/logQuery.ts'

const read = (query: Record<string, string>) => {
  const result = readAccessLogQuery(query)
  return result.ok ? result.value : result.error
}

test('every filter of the access log is read', () => {
  const query = { tokenId: '123456789012345', address: '2001:DB8::1', code: 'token_expired', allowed: 'false' }
  const times = { from: '2026-01-31', until: '2026-01-31T12:00:00.5+01:00' }
  expect(read({ ...query, ...times, streamName: 'x'.repeat(256) })).toMatchObject({
    tokenId: 123_456_789_012_345,
    address: '2001:db8::1',
    code: 'token_expired',
    allowed: false,
    fromMs: Date.UTC(2026, 0, 31),
    untilMs: Date.UTC(2026, 0, 31, 11, 0, 0, 500),
    streamName: 'x'.repeat(256),
  })
  expect(read({ allowed: 'true' })).toMatchObject({ allowed: true })
})

test.each([
  ['tokenId', '1234567890123456'],
  ['tokenId', '-1'],
  ['streamName', 'x'.repeat(257)],
  ['address', 'here'],
  ['code', 'no_such_code'],
  ['allowed', 'perhaps'],
  ['from', '2026-01-31T12:00:00'],
  ['from', '2026-13-31'],
  ['from', '2026-02-30T00:00:00Z'],
  ['streamName', 'a\0b'],
  ['until', 'x2026-01-31'],
  ['until', '2026-01-31x'],
])('%s cannot be %s', (name, text) => {
  expect(Object.keys(read({ [name]: text }))).toEqual([name])
})

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 0, 31)

const summary = (query: Record<string, string>) => {
  const result = readAccessSummaryQuery(query, NOW_MS)
  return result.ok ? result.value : result.error
}

test('a summary covers the last day, or up to 31 days that are named', () => {
  const untilMs = NOW_MS + 1
  expect(summary({})).toEqual({ fromMs: untilMs - DAY_MS, untilMs })
  expect(summary({ source: 'check', cursor: 'x' })).toEqual({ fromMs: untilMs - DAY_MS, untilMs, source: 'check' })
  const month = { from: '2026-01-01', until: '2026-02-01' }
  expect(summary(month)).toEqual({ fromMs: Date.UTC(2026, 0, 1), untilMs: Date.UTC(2026, 1, 1) })
  expect(summary({ ...month, until: '2026-02-01T00:00:00.001Z' })).toEqual({
    from: ['must be at most 31 days before until'],
  })
  expect(summary({ from: '2026-01-02', until: '2026-01-01' })).toEqual({ from: ['must not be after until'] })
  expect(summary({ source: 'any', from: 'soon' })).toMatchObject({
    from: [expect.any(String)],
    source: ['must be admission or check'],
  })
})
