import { describe, expect, test } from 'vitest'
import { type Answer, checkAnswer, checkCompressed, checkMissing, checkRange, checkSameBytes } from './answers.ts'
import {
  checkAligned,
  checkContinuity,
  checkJoin,
  checkPart,
  checkRates,
  checkSegment,
  checkVariant,
  type SegmentFacts,
} from './media.ts'
import { readInit, readMedia } from './mp4.ts'
import { readMaster } from './playlist.ts'
import { samplePart } from './sampleMedia.ts'
import { initBytes, partBytes, SAMPLE_MASTER, segmentBytes } from './sampleStream.ts'
import { type Rule, rulesOf } from './violation.ts'

const INIT = readInit(initBytes())

function factsOf(number: number, bytes = segmentBytes(number)): SegmentFacts {
  const about = { number, discontinuityNumber: 3, dateMs: number * 1000, durationSeconds: 1, init: INIT }
  return { ...about, bytes: bytes.length, tracks: readMedia(bytes, INIT) }
}

describe('media', () => {
  const [variant] = readMaster(SAMPLE_MASTER) as [ReturnType<typeof readMaster>[number]]

  test('the reader finds codecs, sizes, times and keyframes', () => {
    expect(INIT.map(({ kind, timescale, codec, width, height }) => [kind, timescale, codec, width, height])).toEqual([
      ['video', 90_000, 'avc1.64001f', 640, 360],
      ['audio', 48_000, 'mp4a.40.2', 0, 0],
    ])
    const { tracks } = factsOf(4)
    expect(tracks.map(({ start, samples }) => [start, samples.length])).toEqual([
      [360_000, 50],
      [192_000, 50],
    ])
    expect(tracks[0]?.samples.flatMap(({ key }, index) => (key ? [index] : []))).toEqual([0])
    for (const cut of [4, 60, 300]) expect(() => readMedia(segmentBytes(4).subarray(0, cut), INIT)).toThrow('box')
  })

  test('good media breaks no rule', () => {
    expect(checkSegment(factsOf(4), true, 'v0')).toEqual([])
    expect(checkContinuity(factsOf(4), factsOf(5), 'v0')).toEqual([])
    expect(checkRates(variant, [factsOf(4), factsOf(5)], 1, 'v0')).toEqual([])
    expect(checkVariant(variant, [factsOf(4)], 'v0')).toEqual([])
    expect(checkAligned(factsOf(4), factsOf(4), 'v0')).toEqual([])
    expect(checkJoin([20, 21, 22, 23, 24].map(partBytes), segmentBytes(4), 'v0')).toEqual([])
  })

  const judge = (facts: SegmentFacts): Rule[] => rulesOf(checkSegment(facts, true, 'v0'))

  test('V3: finds tracks that the init segment does not have', () => {
    expect(judge({ ...factsOf(4), init: INIT.slice(0, 1) })).toEqual(['V3'])
  })

  test('V4: finds a segment and a part that promise a keyframe and have none', () => {
    const keyless = samplePart({ from: 200, frames: 50, key: false })
    expect(judge(factsOf(4, keyless))).toEqual(['V4'])
    expect(checkSegment(factsOf(4, keyless), false, 'v0')).toEqual([])
    const part = { init: INIT, tracks: readMedia(keyless, INIT), durationSeconds: 1 }
    expect(rulesOf(checkPart({ ...part, independent: true }, 'v0'))).toEqual(['V4'])
    expect(checkPart({ ...part, independent: false }, 'v0')).toEqual([])
  })

  test('V17: finds parts that are not the segment', () => {
    expect(rulesOf(checkJoin([partBytes(20)], segmentBytes(4), 'v0'))).toEqual(['V17'])
  })

  test('V18: finds a track that does not go on where it ended, unless a discontinuity says so', () => {
    const late = factsOf(5, samplePart({ from: 251, frames: 49, key: true }))
    expect(rulesOf(checkContinuity(factsOf(4), late, 'v0'))).toEqual(['V18'])
    expect(checkContinuity(factsOf(4), { ...late, discontinuityNumber: 4 }, 'v0')).toEqual([])
  })

  test('V19: finds media that lasts longer or shorter than it is listed, and no media', () => {
    expect(judge({ ...factsOf(4), durationSeconds: 1.05 })).toEqual(['V19'])
    expect(judge({ ...factsOf(4), durationSeconds: 1.02 })).toEqual([])
    expect(judge({ ...factsOf(4), tracks: [] })).toEqual(['V19'])
  })

  test('V20: finds peaks above BANDWIDTH, also of two short segments, and a wrong average', () => {
    const [one, other] = [factsOf(4), factsOf(5)]
    const judged = (...segments: SegmentFacts[]) => checkRates(variant, segments, 1, 'v0').map(({ where }) => where)
    expect(judged(one, { ...other, bytes: 4000 })).toEqual(['v0 BANDWIDTH'])
    const short = { ...one, durationSeconds: 0.3, bytes: 1200 }
    expect(judged(short)).toEqual(['v0 AVERAGE-BANDWIDTH'])
    expect(judged(short, short)).toEqual(['v0 BANDWIDTH', 'v0 AVERAGE-BANDWIDTH'])
    expect(rulesOf(checkRates({ ...variant, bandwidth: null, averageBandwidth: null }, [one], 1, 'v0'))).toEqual([
      'V20',
    ])
  })

  test.each([
    ['CODECS', { codecs: ['avc1.640028', 'mp4a.40.2'] }],
    ['CODECS', { codecs: [] }],
    ['RESOLUTION', { resolution: '1280x720' }],
    ['RESOLUTION', { resolution: null }],
    ['FRAME-RATE', { frameRate: 25 }],
    ['FRAME-RATE', { frameRate: 120 }],
    ['FRAME-RATE', { frameRate: null }],
  ])('V21: finds a wrong or missing %s', (name, wrong) => {
    const found = checkVariant({ ...variant, ...wrong }, [factsOf(4)], 'v0')
    expect(found.map(({ rule, where }) => [rule, where])).toEqual([['V21', `v0 ${name}`]])
  })

  test.each([
    ['discontinuity', { discontinuityNumber: 4 }],
    ['date', { dateMs: 4100 }],
    ['duration', { durationSeconds: 1.1 }],
  ])('V22: finds renditions that differ in the %s of a segment', (name, other) => {
    const found = checkAligned(factsOf(4), { ...factsOf(4), ...other }, 'v0')
    expect(found.map(({ rule, where }) => [rule, where])).toEqual([['V22', `v0 segment 4 ${name}`]])
  })

  test('V22: a segment may begin later than in another rendition by the frame before it, and no more', () => {
    const [video, audio] = factsOf(3).tracks
    const samples = video?.samples.map((sample, at, all) =>
      at < all.length - 1 ? sample : { ...sample, duration: 11_700 },
    )
    const paused = { ...factsOf(3), tracks: [{ ...video, samples }, audio] as SegmentFacts['tracks'] }
    const apart = (ms: number) =>
      checkAligned(factsOf(4), { ...factsOf(4), dateMs: 4000 + ms }, 'v0', [paused, factsOf(3)]).length
    expect([apart(129), apart(131)]).toEqual([0, 1])
    expect(checkAligned(paused, { ...factsOf(3), durationSeconds: 1.129 }, 'v0')).toEqual([])
  })
})

describe('answers', () => {
  const answer = (kind: Answer['kind'], headers: Record<string, string>, status = 200): Answer => ({
    kind,
    url: 'http://localhost/v0/media.m3u8',
    status,
    headers: new Map(Object.entries({ 'access-control-allow-origin': '*', ...headers })),
    body: Buffer.from('0123456789'),
  })
  const judge = (...wrong: Parameters<typeof answer>) =>
    checkAnswer(answer(...wrong), 2, 'v0').map((one) => [one.rule, one.where])
  const media = { 'content-type': 'video/mp4', 'content-length': '10', 'cache-control': 'public, max-age=60' }
  const text = { 'content-type': 'application/vnd.apple.mpegurl', 'cache-control': 'no-store' }

  test('good ones break no rule', () => {
    expect(judge('media', media)).toEqual([])
    expect(judge('master', text)).toEqual([])
    expect(judge('playlist', { ...text, 'cache-control': 'private, no-cache' })).toEqual([])
    expect(judge('playlist', { ...text, 'cache-control': 'public, max-age=1' })).toEqual([])
    expect(judge('blocking', { ...text, 'cache-control': 'public, max-age=12' })).toEqual([])
    expect(checkCompressed(new Map([['content-encoding', 'gzip']]), 'v0')).toEqual([])
    expect(checkMissing(answer('media', { 'cache-control': 'max-age=1' }, 404), 'v0')).toEqual([])
  })

  test('V23: finds a wrong type, a missing origin or length, no compression, and a wrong range', () => {
    expect(judge('media', { ...media, 'content-type': 'application/octet-stream' })).toEqual([
      ['V23', 'v0 Content-Type'],
    ])
    expect(judge('master', { ...text, 'content-type': 'text/plain' })).toEqual([['V23', 'v0 Content-Type']])
    expect(judge('media', { ...media, 'content-length': '9' })).toEqual([['V23', 'v0 Content-Length']])
    const { headers, ...rest } = answer('media', media)
    const closed = { ...rest, headers: new Map([...headers].filter(([name]) => !name.startsWith('access'))) }
    expect(rulesOf(checkAnswer(closed, 2, 'v0'))).toEqual(['V23'])
    expect(rulesOf(checkCompressed(new Map(), 'v0'))).toEqual(['V23'])
    const whole = Buffer.from('abcdefgh0123456789')
    const range = (status: number, from: number) =>
      rulesOf(checkRange(answer('media', { 'content-range': `bytes ${from}-17/18` }, status), whole, 8, 17, 'v0'))
    expect([range(206, 8), range(200, 8), range(206, 7)]).toEqual([[], ['V23'], ['V23']])
    const other = checkRange(answer('media', { 'content-range': 'bytes 7-16/18' }, 206), whole, 7, 16, 'v0')
    expect(rulesOf(other)).toEqual(['V23'])
  })

  test('V24: finds answers that caches keep too long or not at all', () => {
    const cached = (kind: Answer['kind'], control: string) =>
      rulesOf(checkAnswer(answer(kind, { ...(kind === 'media' ? media : text), 'cache-control': control }), 2, 'v0'))
    expect(cached('master', 'max-age=1')).toEqual(['V24'])
    expect(cached('playlist', 'public, max-age=2')).toEqual(['V24'])
    expect(cached('blocking', 'public, max-age=13')).toEqual(['V24'])
    expect(cached('media', 'no-cache')).toEqual(['V24'])
    expect(cached('media', 'private, max-age=60')).toEqual(['V24'])
    expect(rulesOf(checkMissing(answer('media', { 'cache-control': 'max-age=60' }, 404), 'v0'))).toEqual(['V24'])
  })

  test('V25: finds bytes that differ between viewers', () => {
    expect(checkSameBytes(Buffer.from('a'), Buffer.from('a'), 'v0')).toEqual([])
    expect(rulesOf(checkSameBytes(Buffer.from('a'), Buffer.from('b'), 'v0'))).toEqual(['V25'])
  })
})
