import { expect, it } from 'vitest'
import { jsonOf } from '../../../src/base/objects.ts'
import { csvRow } from '../../../src/core/audit/csv.ts'
import { csvLine, usageCsv } from '../../../src/core/usage/csv.ts'
import {
  byCountry,
  byName,
  byProtocol,
  bySlot,
  bytesByCountry,
  perStream,
  perToken,
  perTrackingId,
  series,
  sumOfBytes,
  total,
  type UsageRow,
  viewsByCountry,
} from '../../../src/core/usage/report.ts'

const HOUR_MS = 3_600_000
const FROM = Date.parse('2026-01-01T00:00:00Z')
const read = (report: unknown) => JSON.parse([...jsonOf(report)].join('')) as Record<string, unknown>
const rowOf = (row: Partial<UsageRow>): UsageRow => ({
  slotMs: FROM,
  streamName: 'show',
  trackingId: '',
  country: 'DE',
  bytesIn: 0,
  bytesOut: 0,
  ...row,
})

it('lists tokens by their bytes in both directions, equal ones by their id, and traffic without one too', () => {
  const rows = [
    rowOf({ tokenId: 3, bytesOut: 5 }),
    rowOf({ tokenId: 2, bytesIn: 5 }),
    rowOf({ bytesOut: 6 }),
    rowOf({ tokenId: 1, bytesIn: 4, bytesOut: 4, bytesFromCaches: 2 }),
  ]
  expect(read(perToken(rows))).toEqual([
    { tokenId: 1, bytesIn: 4, bytesOut: 4, bytesFromCaches: 2 },
    { bytesIn: 0, bytesOut: 6 },
    { tokenId: 2, bytesIn: 5, bytesOut: 0 },
    { tokenId: 3, bytesIn: 0, bytesOut: 5 },
  ])
})

it('shows a hundred tokens at most', () => {
  const rows = Array.from({ length: 101 }, (_, at) => rowOf({ tokenId: at + 1, bytesOut: 1000 - at }))
  const shown = read(perToken(rows)) as unknown as { tokenId: number }[]
  expect([shown.length, shown.at(-1)?.tokenId]).toEqual([100, 100])
})

it('looks through many tokens in pieces, so that a hundred thousand of them hold up nobody', () => {
  let seen = 0
  const rows = Array.from({ length: 1_000 }, (_, at) =>
    Object.defineProperty(rowOf({ tokenId: at + 1 }), 'bytesOut', { get: () => ((seen = Math.max(seen, at)), at) }),
  )
  const steps: number[] = []
  for (const _piece of jsonOf(perToken(rows))) {
    const before = steps.reduce((sum, step) => sum + step, 0)
    steps.push(seen - before)
  }
  expect([seen, Math.max(...steps)]).toEqual([999, 1])
})

it('names the tracking id of each sum, but for traffic without one', () => {
  const rows = [
    rowOf({ bytesOut: 1 }),
    rowOf({ trackingId: 'x', bytesOut: 2 }),
    rowOf({ trackingId: 'x', bytesOut: 3 }),
  ]
  expect(read(perTrackingId(rows))).toEqual([
    { bytesIn: 0, bytesOut: 1 },
    { trackingId: 'x', bytesIn: 0, bytesOut: 5 },
  ])
})

it('counts broadcasts and views of countries, with their times in whole seconds', () => {
  const watched = { publishes: 1, publishMs: 1499, views: 2, viewMs: 1500 }
  expect(byCountry([rowOf({ country: '', watched }), rowOf({ country: '', bytesOut: 1 })])).toEqual({
    ZZ: { bytesIn: 0, bytesOut: 1, publishDuration: 1, viewDuration: 2, publishes: 1, views: 2 },
  })
})

it('writes a line of CSV for each sum, with the column of caches only where they sent something', () => {
  const slots = [FROM, FROM + HOUR_MS]
  const rows = [
    rowOf({ tokenId: 7, bytesOut: 1 }),
    rowOf({ tokenId: 7, bytesIn: 2 }),
    rowOf({ slotMs: FROM + HOUR_MS, bytesOut: 3 }),
  ]
  const csv = (
    of: Parameters<typeof usageCsv>[0],
    dimensions: Parameters<typeof usageCsv>[1]['dimensions'],
    has = {},
  ) => [...usageCsv(of, { dimensions, hasRestreams: false, hasViews: false, ...has }, { slots })].join('')
  expect(csv(rows, ['slot', 'tokenId'])).toBe(
    'time,tokenId,bytesOut,bytesIn\r\n2026-01-01T00:00:00Z,7,1,2\r\n2026-01-01T01:00:00Z,,3,0\r\n',
  )
  expect(csv([rowOf({ tokenId: 0, bytesOut: 1 }), rowOf({ tokenId: 7, bytesIn: 2 })], ['tokenId'])).toBe(
    'tokenId,bytesOut,bytesIn\r\n,1,0\r\n7,0,2\r\n',
  )
  expect(csv([rowOf({ country: '', bytesOut: 1 })], ['country'])).toBe('country,bytesOut,bytesIn\r\nZZ,1,0\r\n')
  expect(csv([rowOf({ bytesOut: 4, bytesFromCaches: 3 })], [])).toBe('bytesOut,bytesIn,bytesFromCaches\r\n4,0,3\r\n')
  const restream = { liveMs: 1500, bytesIn: 1, bytesOut: 9 }
  const watched = { publishes: 1, publishMs: 1499, views: 2, viewMs: 1500 }
  expect(
    csv([rowOf({ bytesIn: 5 }), rowOf({ restream }), rowOf({ watched })], [], { hasRestreams: true, hasViews: true }),
  ).toBe(
    'bytesOut,bytesIn,restreamSecondsUsed,restreamBytesOut,restreamBytesIn,publishDuration,viewDuration,publishes,views\r\n' +
      '0,5,2,9,1,1,2,1,2\r\n',
  )
})

it('writes the lines of CSV in order, also those that have views and no bytes', () => {
  const at = (slotMs: number, country: string, over = {}) => rowOf({ slotMs, country, ...over })
  const watched = { publishes: 0, publishMs: 0, views: 1, viewMs: 0 }
  const next = FROM + HOUR_MS
  const rows = [at(FROM, 'NL'), at(next, ''), at(next, 'DE'), at(next, 'AT', { watched }), at(FROM, 'DE', { watched })]
  const columns = { dimensions: ['slot', 'country'], hasRestreams: false, hasViews: true } as const
  const lines = [...usageCsv(rows, columns, { slots: [FROM, next] })].join('').split('\r\n')
  expect(lines.slice(1, -1).map((line) => line.slice(11, 23))).toEqual([
    '00:00:00Z,DE',
    '00:00:00Z,NL',
    '01:00:00Z,AT',
    '01:00:00Z,DE',
    '01:00:00Z,ZZ',
  ])
})

it('has an entry for each slot and each name that was asked for, whatever it is called', () => {
  const span = { fromMs: FROM, untilMs: FROM + 2 * HOUR_MS, resolution: 'Hour', zone: 'UTC' } as const
  const question = { ...span, names: [], slots: [FROM, FROM + HOUR_MS], mediaOnly: false }
  const rows = [rowOf({ bytesOut: 1 }), rowOf({ bytesOut: 2, bytesIn: 5, streamName: '__proto__' })]
  const nothing = { bytesIn: 0, bytesOut: 0 }
  expect(read(bySlot(rows, question, sumOfBytes))).toEqual({
    '2026-01-01T00:00:00Z': { bytesIn: 5, bytesOut: 3 },
    '2026-01-01T01:00:00Z': nothing,
  })
  const named = byName(rows, ['none', '__proto__'], ({ streamName }) => streamName, sumOfBytes)
  expect(Object.entries(read(named))).toEqual([
    ['none', nothing],
    ['__proto__', { bytesIn: 5, bytesOut: 2 }],
  ])
  expect(total(rows)).toEqual({
    bytesIn: 5,
    bytesOut: 3,
    standardStream: { bytesIn: 5, bytesOut: 3 },
    restream: { ...nothing, secondsUsed: 0 },
    geoCascade: nothing,
  })
  expect(Object.values(read(series([], question))['geoCascade'] as object)).toEqual([nothing, nothing])
})

it('lists countries by their code, streams as they come, and protocols', () => {
  const watched = { publishes: 3, publishMs: 0, views: 2, viewMs: 0 }
  const rows = [
    rowOf({ country: 'NL', bytesIn: 1, bytesOut: 2, streamName: 'b', protocol: 'hls', watched }),
    rowOf({ country: '', bytesOut: 4, streamName: 'a', protocol: 'whep' }),
    rowOf({ country: 'DE', bytesOut: 8, streamName: 'b', protocol: 'hls' }),
    rowOf({ country: 'NL', bytesOut: 16, streamName: 'a' }),
  ]
  expect(Object.entries(bytesByCountry(rows))).toEqual([
    ['DE', { bytesIn: 0, bytesOut: 8 }],
    ['NL', { bytesIn: 1, bytesOut: 18 }],
    ['ZZ', { bytesIn: 0, bytesOut: 4 }],
  ])
  expect(viewsByCountry(rows)['NL']).toEqual({ bytes: 19, views: 2 })
  expect(read(perStream(rows))).toEqual([
    { streamName: 'b', bytesIn: 1, bytesOut: 10 },
    { streamName: 'a', bytesIn: 0, bytesOut: 20 },
  ])
  expect(read(byProtocol(rows))).toEqual({
    hls: { bytesIn: 1, bytesOut: 10 },
    whep: { bytesIn: 0, bytesOut: 4 },
    '': { bytesIn: 0, bytesOut: 16 },
  })
})

/** As a spreadsheet splits a line whose cells end with semicolons: quotes count at the beginning of a cell only. */
const splitBySemicolons = (line: string): string[] => line.split(/;|\r\n|\r|\n/).map((cell) => cell.replace(/^"+/, ''))

it('writes no formula for a spreadsheet that separates cells by semicolons', () => {
  const names = ['a;=1+1;', 'a;"=1+1";', 'a\n=1+1', 'a\r\n@x;', 'a;＝1', 'a;\t-1', '=1;=2', ';;+1']
  for (const write of [csvLine, csvRow]) {
    for (const name of names)
      for (const cell of splitBySemicolons(write(['show', name, '5'])))
        expect([name, cell]).toEqual([name, expect.not.stringMatching(/^[=+\-@＝＋－＠]/)])
  }
  expect(csvLine(['a;b', 'x; y'])).toBe('"a;b","x; y"')
})

it('writes names so that none ends its cell, and none is a formula in a spreadsheet', () => {
  const written = ['a b', 'a"b', '-1', '=1+1', '@x', '＝1', '+', 'a=b', 'plain-1.x:_', 'a-', ''].map((one) =>
    csvLine([one]),
  )
  expect(written).toEqual([
    '"a b"',
    '"a""b"',
    `"'-1"`,
    `"'=1+1"`,
    `"'@x"`,
    `"'＝1"`,
    `"'+"`,
    '"a=b"',
    'plain-1.x:_',
    'a-',
    '',
  ])
})
