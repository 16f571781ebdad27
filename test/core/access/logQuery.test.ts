import { expect, test } from 'vitest'
import { readAccessLogQuery } from '../../../src/core/access/logQuery.ts'

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
  ['until', 'x2026-01-31'],
  ['until', '2026-01-31x'],
])('%s cannot be %s', (name, text) => {
  expect(Object.keys(read({ [name]: text }))).toEqual([name])
})
