import { expect, it } from 'vitest'
import {
  bitrateText,
  bytesText,
  durationText,
  hertzText,
  millisText,
  percentText,
  secondsText,
  timeText,
} from '../../src/cli/figures.ts'

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1 kB'],
  [1_234_567, '1.23 MB'],
  [999_499, '999 kB'],
  [999_999, '1 MB'],
  [5e15, '5 PB'],
  [5e18, '5000 PB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
})

it('bits a second have units of their own', () => {
  expect([0, 64_000, 2_500_000, 12e9].map(bitrateText)).toEqual(['0 bit/s', '64 kbit/s', '2.5 Mbit/s', '12 Gbit/s'])
})

it.each([
  [-500, '0:00:00'],
  [59_999, '0:00:59'],
  [6_128_000, '1:42:08'],
  [86_399_000, '23:59:59'],
  [266_400_000, '3 d 2 h'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

it('short times have units, and long ones are clocks', () => {
  expect([0, -120, 41.6, 999.6, 1500, 59_949, 60_000].map(millisText)).toEqual([
    '0 ms',
    '-120 ms',
    '42 ms',
    '1 s',
    '1.5 s',
    '59.9 s',
    '0:01:00',
  ])
  expect([0.8, 38_093, 266_400].map(secondsText)).toEqual(['0.8 s', '10:34:53', '3 d 2 h'])
})

it('shares and sample rates have units', () => {
  expect([0, 0.5, 12.34].map(percentText)).toEqual(['0%', '0.5%', '12.3%'])
  expect([8000, 44_100].map(hertzText)).toEqual(['8 kHz', '44.1 kHz'])
})

it('a moment of today is its time, and another one its day and minute', () => {
  const nowMs = Date.parse('2026-01-31T12:00:00.000Z')
  expect(timeText('2026-01-31T10:17:52.123Z', nowMs)).toBe('10:17:52')
  expect(timeText('2025-12-31T23:59:59.999Z', nowMs)).toBe('2025-12-31 23:59')
})
