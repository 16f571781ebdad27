import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fileOf, pieceOf, wantedPartOf } from '../../../src/edge/http/hls/names.ts'
import type { Mp4Fragment } from '../../../src/media/hls/fragments.ts'
import { SegmentList } from '../../../src/media/hls/segments.ts'

const LIMITS = { targetSeconds: 2, listed: 4, maxBytes: 10_000, parts: true }

type Step = { kind: 'begin' } | { kind: 'fragment'; key: boolean; seconds: number; bytes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'begin' }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('fragment' as const),
      key: fc.boolean(),
      seconds: fc.integer({ min: 1, max: 6 }).map((tenths) => tenths / 10),
      bytes: fc.nat(600),
    }),
  },
)

function play(steps: readonly Step[], check: (list: SegmentList) => void = () => undefined): SegmentList {
  const list = new SegmentList(LIMITS)
  list.begin(Buffer.from('init'))
  let start = 0
  for (const next of steps) {
    if (next.kind === 'begin') {
      list.begin(Buffer.from('init'))
      start = 0
    } else {
      const { key, seconds: duration } = next
      const fragment: Mp4Fragment = { bytes: Buffer.alloc(next.bytes, 7), start, duration, key }
      list.add(fragment, 1_800_000_000_000)
      start += duration
    }
    check(list)
  }
  return list
}

interface Read {
  first: number
  discontinuitySequence: number
  target: number
  entries: { sequence: number; duration: number; changes: boolean; run: number }[]
}

/** Reads a playlist as a player would. */
function read(text: string): Read {
  const number = (tag: string): number => Number(new RegExp(`#${tag}:(\\d+)`).exec(text)?.[1])
  const entries: Read['entries'] = []
  let [changes, run, duration] = [false, -1, 0]
  for (const line of text.split('\n')) {
    if (line === '#EXT-X-DISCONTINUITY') changes = true
    run = Number(/^#EXT-X-MAP:URI="init-(\d+)/.exec(line)?.[1] ?? run)
    duration = Number(/^#EXTINF:([\d.]+)/.exec(line)?.[1] ?? duration)
    const [, sequence] = /^segment-(\d+)\.m4s$/.exec(line) ?? []
    if (sequence === undefined) continue
    entries.push({ sequence: Number(sequence), duration, changes, run })
    changes = false
  }
  return {
    first: number('EXT-X-MEDIA-SEQUENCE'),
    discontinuitySequence: number('EXT-X-DISCONTINUITY-SEQUENCE'),
    target: number('EXT-X-TARGETDURATION'),
    entries,
  }
}

test('no listed part exceeds the part target, and one long part raises it only while it is listed', () => {
  const list = new SegmentList({ targetSeconds: 2, listed: 6, maxBytes: 1e9, parts: true })
  list.begin(Buffer.from('init'))
  const targets = Array.from({ length: 80 }, (_, at) => {
    const duration = at === 10 ? 4.2 : 0.5
    list.add({ bytes: Buffer.alloc(1), start: at, duration, key: at % 4 === 0 }, 1_800_000_000_000)
    const text = list.playlist(fileOf)
    const target = Number(/PART-TARGET=([\d.]+)/.exec(text)?.[1])
    for (const [, seconds] of text.matchAll(/#EXT-X-PART:DURATION=([\d.]+)/g))
      expect(Number(seconds)).toBeLessThanOrEqual(target)
    return target
  })
  expect([targets[9], targets[10], targets.at(-1)]).toEqual([0.5, 4.2, 0.5])
})

test('for any fragments, playlists agree with each other and with the segments', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      /** The discontinuity number of every segment ever listed: it must never change (RFC 8216 section 6.2.1). */
      const numbers = new Map<number, number>()
      let before = 0
      play(steps, (list) => {
        const { first, discontinuitySequence, entries, target } = read(list.playlist(fileOf))
        expect(first).toBeGreaterThanOrEqual(before)
        before = first
        expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, index) => first + index))
        let number = discontinuitySequence
        for (const { sequence, changes, duration, run } of entries) {
          if (changes) number += 1
          expect(numbers.get(sequence) ?? number).toBe(number)
          numbers.set(sequence, number)
          expect(Math.round(duration)).toBeLessThanOrEqual(target)
          expect(list.segment(sequence)).toBeDefined()
          expect(list.init(run)).toBeDefined()
        }
        expect(entries.length).toBeLessThanOrEqual(LIMITS.listed)
      })
    }),
  )
})

test('parts add up to the segment, before and after a request for the whole', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
      const list = play(steps)
      for (const { sequence } of read(list.playlist(fileOf)).entries) {
        const parts = () => {
          const found: Buffer[] = []
          for (let part = 0; list.part(sequence, part) !== undefined; part++) found.push(list.part(sequence, part)!)
          return Buffer.concat(found)
        }
        const before = parts()
        expect(list.segment(sequence)!.equals(before)).toBe(true)
        expect(parts().equals(before)).toBe(true)
        expect(list.has(sequence, null)).toBe(true)
      }
      expect(list.has(list.current, 10_000)).toBe(false)
    }),
  )
})

test('segments in memory never exceed the bound', () => {
  const list = play(Array.from({ length: 400 }, () => ({ kind: 'fragment', key: true, seconds: 2, bytes: 3000 })))
  const stored = Array.from({ length: 400 }, (_, sequence) => list.segment(sequence)).filter(
    (bytes) => bytes !== undefined,
  )
  expect(stored.reduce((sum, bytes) => sum + bytes.length, 0)).toBeLessThanOrEqual(LIMITS.maxBytes)
  expect(stored.length).toBeGreaterThan(1)
})

test('without keyframes a segment is cut at twice the target duration', () => {
  const list = play(
    Array.from({ length: 100 }, (_, index) => ({ kind: 'fragment', key: index === 0, seconds: 0.5, bytes: 9 })),
  )
  const { entries } = read(list.playlist(fileOf))
  expect(entries.map(({ duration }) => duration)).toEqual([4, 4, 4, 4])
  expect(list.playlist(fileOf)).not.toContain('#EXT-X-INDEPENDENT-SEGMENTS')
})

describe('names', () => {
  test('every piece has one name, and is found under it', () => {
    const small = fc.nat(999_999_999)
    const piece = fc.oneof(
      fc.record({ kind: fc.constant('init' as const), run: small }),
      fc.record({ kind: fc.constant('segment' as const), sequence: small }),
      fc.record({ kind: fc.constant('part' as const), sequence: small, part: small }),
    )
    fc.assert(fc.property(piece, (one) => isDeepStrictEqual(pieceOf(fileOf(one)), { ...one })))
    const wrong = [
      'segment-1.mp4',
      'init-1.m4s',
      'segment-01.m4s',
      'part-1.m4s',
      'segment-1-2.m4s',
      '../x',
      'segment--1.m4s',
    ]
    expect(wrong.map(pieceOf)).toEqual(wrong.map(() => null))
    fc.assert(fc.property(fc.string(), (text) => pieceOf(text) === null))
  })

  test('a blocking request is parsed, or refused', () => {
    expect(wantedPartOf({})).toBeNull()
    expect(wantedPartOf({ _HLS_msn: '7' })).toEqual({ sequence: 7, part: null })
    expect(wantedPartOf({ _HLS_msn: '7', _HLS_part: '0' })).toEqual({ sequence: 7, part: 0 })
    for (const wrong of [{ _HLS_part: '1' }, { _HLS_msn: '-1' }, { _HLS_msn: ['1', '2'] }, { _HLS_msn: '1e9' }])
      expect(wantedPartOf(wrong)).toBe('malformed')
  })
})
