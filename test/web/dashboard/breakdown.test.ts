import { expect, test } from 'vitest'
import { kindOfUsage, protocolRows } from '../../../web/dashboard/src/pages/analytics/breakdown.ts'

test('a protocol has a row for each direction with traffic, the most first', () => {
  const byProtocol = {
    whip: { bytesOut: 0, bytesIn: 30 },
    whep: { bytesOut: 50, bytesIn: 0 },
    hls: { bytesOut: 0, bytesIn: 0 },
  }
  expect(protocolRows(byProtocol)).toEqual([
    { protocol: 'whep', direction: 'out', bytes: 50 },
    { protocol: 'whip', direction: 'in', bytes: 30 },
  ])
  expect(protocolRows({})).toEqual([])
})

test('a token that brings media in is a publish token, also where reports went out', () => {
  expect(kindOfUsage({ tokenId: 1, bytesOut: 1, bytesIn: 5 })).toBe('publish')
  expect(kindOfUsage({ tokenId: 2, bytesOut: 5, bytesIn: 1 })).toBe('subscribe')
})
