import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Occurrence, occurrencesFrom, planOf } from '../../src/core/channels/schedules/plan.ts'
import { CACHE_LINE_MAX, readCacheLine } from '../../src/core/usage/cacheLog.ts'
import { readRange } from '../../src/edge/http/media/range.ts'
import { readOembed } from '../../src/edge/http/player/oembed.ts'
import { watchUrl } from '../../src/edge/http/player/watchPage.ts'
import { readSdp } from '../../src/media/rtsp/sdp.ts'
import { cases } from '../support/randomCases.ts'

const anyText = fc.string({ unit: 'binary', maxLength: 200, size: 'max' })
const textOf = (words: readonly string[], joint = '') =>
  fc
    .array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...words) }, anyText), { maxLength: 9 })
    .map((all) => all.join(joint))

describe('the range of a download', () => {
  it('lies within what there is, and is the one that the header names', () => {
    const bound = fc.oneof(fc.constant(''), fc.nat(12).map(String), fc.constantFrom('999999999999999', '00'))
    fc.assert(
      fc.property(bound, bound, fc.nat(10), (from, to, size) => {
        const range = readRange(`bytes=${from}-${to}`, size)
        const all = Array.from({ length: size }, (_, at) => at)
        const isSuffix = from === ''
        const wanted = isSuffix
          ? all.filter((at) => at >= size - Number(to))
          : all.filter((at) => at >= Number(from) && (to === '' || at <= Number(to)))
        const isRange = from + to !== '' && (isSuffix || to === '' || Number(to) >= Number(from))
        if (!isRange) expect(range).toBeNull()
        else if (wanted.length === 0) expect(range).toBe('unsatisfiable')
        else expect(range).toEqual({ start: wanted[0], end: wanted.at(-1) })
      }),
      cases(3000),
    )
  })

  it('is the whole body for any other header', () => {
    const header = textOf(['bytes=', 'bytes', '0', '-', '9', ',', ' ', 'items=', '1e3'])
    fc.assert(
      fc.property(
        header.filter((one) => !/^\s*bytes=\d{0,15}-\d{0,15}\s*$/.test(one)),
        (one) => {
          expect(readRange(one, 100)).toBeNull()
        },
      ),
      cases(1000),
    )
  })
})

describe('a link for oEmbed', () => {
  const base = 'https://live.example.com'

  it('leads to the stream that it was made of', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20, size: 'max' })
    fc.assert(
      fc.property(name, name, (accountId, streamName) => {
        const read = readOembed({ url: watchUrl({ base, accountId, streamName }) }, base)
        if (read.ok) expect(read.value).toMatchObject({ accountId, streamName })
      }),
      cases(1000),
    )
    expect(readOembed({ url: watchUrl({ base, accountId: 'a b', streamName: 'ü/?#' }) }, base).ok).toBe(true)
  })

  it('of any text leads to a stream of this server, or is refused', () => {
    const url = textOf([base, '/watch/', 'a', '/', '%2F', '%', '..', '?', '#', '@', 'https://', 'evil.example', '\\'])
    const right = fc.constant(watchUrl({ base, accountId: 'a', streamName: 'b' }))
    const given = fc.oneof(url, right, fc.array(url), fc.constant(undefined))
    const number = fc.oneof(textOf(['1', '0', '9', '.', '-']), fc.nat(3000).map(String), fc.constant(undefined))
    fc.assert(
      fc.property(given, number, number, (one, maxwidth, maxheight) => {
        const read = readOembed({ url: one, maxwidth, maxheight }, base)
        if (!read.ok) expect(read.error.text).toMatch(/^(Bad request|Not found): /)
        else expect(String(one)).toContain(base)
        const { size, most } = read.ok ? read.value : { size: null, most: { width: 0, height: 0 } }
        if (size !== null) expect(size.width <= most.width && size.height <= most.height).toBe(true)
      }),
      cases(2000),
    )
  })
})

describe('the description of a camera', () => {
  it('may be any text, and names no codec or one in capitals', () => {
    const sdp = textOf(
      ['m=video ', '0 RTP/AVP 96', 'm=audio 0 RTP/AVP 8', 'a=rtpmap:96 h264/90000', 'm=', ' ', '*+('],
      '\r\n',
    )
    fc.assert(
      fc.property(sdp, (text) => {
        for (const codec of Object.values(readSdp(text)) as (string | null)[])
          if (codec !== null) expect(codec).toMatch(/^[A-Z0-9._-]{1,32}$/)
      }),
      cases(2000),
    )
  })
})

describe('a line of the log of a cache', () => {
  it('may be any text, and counts no more than an answer can have', () => {
    const line = textOf(
      ['2026-01-01T00:00:00Z', '200', '206', '5', '999999999', '/hls/~v1.a/show/run/s0.m4s', '/check'],
      ' ',
    )
    const right = fc
      .tuple(fc.constantFrom(200, 206, 304), fc.nat(999_999_999))
      .map(([status, bytes]) => `2026-01-01T00:00:00Z ${status} ${bytes} /hls/~v1.a/show/run/s0.m4s`)
    fc.assert(
      fc.property(fc.oneof(line, right), (one) => {
        const read = readCacheLine(one.slice(0, CACHE_LINE_MAX))
        if (typeof read === 'object') expect(read.bytes).toBeLessThanOrEqual(256 * 1024 * 1024)
      }),
      cases(2000),
    )
  })
})

describe('the times of a scheduler', () => {
  const rules = [
    'FREQ=DAILY',
    'FREQ=WEEKLY;BYDAY=MO,SU;WKST=SU',
    'FREQ=MONTHLY;BYDAY=-1FR',
    'FREQ=DAILY;BYMONTHDAY=31,-31',
  ]
  const odder = 'INTERVAL=3 INTERVAL=1001 COUNT=4 COUNT=0 BYDAY=5MO UNTIL=20301231 UNTIL=20260230 BYHOUR=2'.split(' ')
  const parts = [...rules.flatMap((rule) => rule.split(';')), ...odder]
  const [dates, times] = [
    ['2026-01-31', '2026-03-29', '2024-02-29', '2026-10-25', '9999-12-31', '1970-01-01'],
    ['02:30', '00:00', '23:59'],
  ]
  const zones = ['Europe/Vienna', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC']
  const right = fc.record({
    startDate: fc.constantFrom(...dates),
    startTime: fc.constantFrom(...times),
    endDate: fc.constant(null),
    endTime: fc.option(fc.constantFrom(...times)),
    recurrence: fc.option(fc.constantFrom(...rules, 'RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=3')),
    timeZone: fc.constantFrom(...zones),
  })
  const date = fc.constantFrom(...dates, '2026-02-30', '', 'x')
  const time = fc.constantFrom(...times, '24:00', '', '2:30')
  const odd = fc.record({
    startDate: date,
    startTime: time,
    endDate: fc.option(date),
    endTime: fc.option(time),
    recurrence: fc.option(textOf(parts, ';')),
    timeZone: fc.constantFrom(...zones, 'Nowhere', ''),
  })

  it('are refused with sentences, or each ends after it begins, and before it they follow one another', () => {
    let planned = 0
    const from = fc.constantFrom(0, Date.UTC(2026, 2, 28), Date.UTC(2100, 0, 1))
    fc.assert(
      fc.property(fc.oneof(right, odd), from, (asked, fromMs) => {
        const plan = planOf(asked)
        if (!plan.ok) expect(Object.values(plan.error).flat().join('')).toMatch(/\w/)
        const found: Occurrence[] = []
        for (const one of plan.ok ? occurrencesFrom(plan.value, fromMs) : []) if (found.push(one) === 5) break
        planned += plan.ok ? 1 : 0
        for (const [at, { startMs, endMs }] of found.entries()) {
          if (endMs !== null) expect(endMs).toBeGreaterThan(startMs)
          if (at > 0) expect(startMs).toBeGreaterThan(found[at - 1]?.startMs ?? Number.NaN)
        }
      }),
      cases(2000),
    )
    expect(planned).toBeGreaterThan(0)
  })
})
