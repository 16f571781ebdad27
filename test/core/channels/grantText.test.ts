import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEVICES } from '../../../src/core/channels/device.ts'
import { readGrant, writeGrant } from '../../../src/core/channels/grantText.ts'
import type { Grant } from '../../../src/core/channels/playback.ts'

const OPEN: Grant = { keyId: null, untilMs: null, trackingId: null, countries: null, devices: null }
const again = (grant: Partial<Grant>): Grant => readGrant(writeGrant({ ...OPEN, ...grant }))

test('a grant is in its text as it was', () => {
  const codes = fc.uniqueArray(fc.stringMatching(/^[A-Z]{2}$/), { maxLength: 5 })
  const grant = fc.record<Grant>({
    keyId: fc.constantFrom(null, 'key_0123'),
    untilMs: fc.option(fc.nat(4_000_000_000).map((seconds) => seconds * 1000)),
    trackingId: fc.option(fc.string({ unit: 'grapheme', minLength: 1 })),
    countries: fc.option(codes),
    devices: fc.option(fc.subarray([...DEVICES], { minLength: 1 })),
  })
  fc.assert(
    fc.property(grant, (one) => {
      expect(writeGrant(one)).toMatch(/^[\w.-]+$/)
      expect(again(one)).toEqual(one)
    }),
  )
})

test('one that names no country or device that there is admits no viewer, and not every one', () => {
  for (const countries of [[], ['nl', 'NLD', '1'], ['']]) expect(again({ countries }).countries).toEqual([])
  for (const devices of [[], ['fridge']]) {
    const admitted = again({ devices }).devices ?? DEVICES
    expect(DEVICES.filter((device) => admitted.includes(device))).toEqual([])
  }
  expect(again({ countries: ['NL', 'x', 'DE', 'NL'], devices: ['tv', 'fridge', 'desktop'] })).toMatchObject({
    countries: ['NL', 'DE'],
    devices: ['desktop', 'tv'],
  })
})

test('it ends with the second in which it ends, and has at most 2,250 characters', () => {
  expect([1, 1000, 1001].map((untilMs) => again({ untilMs }).untilMs)).toEqual([1000, 1000, 2000])
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at))
  const countries = letters.flatMap((first) => letters.map((second) => first + second))
  const longest = {
    keyId: 'key_'.padEnd(40, '0'),
    untilMs: 4e12,
    trackingId: '日'.repeat(128),
    countries,
    devices: DEVICES,
  }
  expect(writeGrant(longest).length).toBeLessThanOrEqual(2250)
  expect(readGrant(writeGrant(longest))).toEqual(longest)
})
