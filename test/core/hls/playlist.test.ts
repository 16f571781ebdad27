import { expect, test } from 'vitest'
import type { RenditionFacts, SegmentFact } from '../../../src/core/hls/facts.ts'
import { hlsMaster } from '../../../src/core/hls/master.ts'
import { hlsPlaylist } from '../../../src/core/hls/playlist.ts'

const START_MS = Date.UTC(2027, 0, 1)

/** A segment of two seconds with parts of half a second; the open one has only the first of them. */
const segment = (n: number, changes: Partial<SegmentFact> = {}): SegmentFact => {
  const closed = changes.closed ?? true
  const parts = [0, 1, 2, 3].map((at) => ({ n: n * 4 + at, duration: 0.5, independent: at === 0, bytes: 100 }))
  const own = { n, startMs: START_MS + n * 2000, duration: closed ? 2 : 0.5, independent: true, init: '0a1b2c3d' }
  return { ...own, discontinuity: false, parts: closed ? parts : parts.slice(0, 1), bytes: 400, closed, ...changes }
}

const BEGUN = { targetSeconds: 2, partSeconds: 0.5, discontinuitySequence: 7, nextSegment: 99, nextPart: 42 }
const facts = (segments: SegmentFact[], changes: Partial<RenditionFacts> = {}): RenditionFacts => {
  return { ...BEGUN, segments, ended: false, ...changes }
}

test('a live playlist lists the parts of the last three target durations, and announces one part', () => {
  const text = hlsPlaylist(facts([4, 5, 6, 7, 8, 9].map((n) => segment(n)).concat(segment(10, { closed: false }))), {
    window: 4,
  })
  expect(text).toBe(`#EXTM3U
#EXT-X-VERSION:9
#EXT-X-TARGETDURATION:2
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=6.000,PART-HOLD-BACK=1.500
#EXT-X-PART-INF:PART-TARGET=0.500
#EXT-X-MEDIA-SEQUENCE:6
#EXT-X-DISCONTINUITY-SEQUENCE:7
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MAP:URI="init-0a1b2c3d.mp4"
#EXT-X-PROGRAM-DATE-TIME:2027-01-01T00:00:12.000Z
#EXTINF:2.0000001,
s6.m4s
#EXT-X-PROGRAM-DATE-TIME:2027-01-01T00:00:14.000Z
#EXTINF:2.0000001,
s7.m4s
#EXT-X-PROGRAM-DATE-TIME:2027-01-01T00:00:16.000Z
#EXT-X-PART:DURATION=0.50000000,URI="p32.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.50000000,URI="p33.m4s"
#EXT-X-PART:DURATION=0.50000000,URI="p34.m4s"
#EXT-X-PART:DURATION=0.50000000,URI="p35.m4s"
#EXTINF:2.0000001,
s8.m4s
#EXT-X-PROGRAM-DATE-TIME:2027-01-01T00:00:18.000Z
#EXT-X-PART:DURATION=0.50000000,URI="p36.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.50000000,URI="p37.m4s"
#EXT-X-PART:DURATION=0.50000000,URI="p38.m4s"
#EXT-X-PART:DURATION=0.50000000,URI="p39.m4s"
#EXTINF:2.0000001,
s9.m4s
#EXT-X-PROGRAM-DATE-TIME:2027-01-01T00:00:20.000Z
#EXT-X-PART:DURATION=0.50000000,URI="p40.m4s",INDEPENDENT=YES
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p42.m4s"
`)
})

test('a discontinuity counts when its segment leaves the playlist, and its init is named again', () => {
  const segments = [
    segment(1, { discontinuity: true }),
    segment(2),
    segment(3, { discontinuity: true, init: 'ffffffff' }),
  ]
  const text = hlsPlaylist(facts(segments), { window: 2 })
  expect(text).toContain('#EXT-X-DISCONTINUITY-SEQUENCE:8\n')
  expect(text.match(/#EXT-X-DISCONTINUITY\n/g)).toHaveLength(1)
  expect(text).toContain('#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-ffffffff.mp4"\n')
  expect(text).toContain('\ns3.m4s\n')
})

test('without parts, and at the end, only whole segments are listed', () => {
  const segments = [segment(1, { independent: false }), segment(2, { closed: false })]
  const plain = hlsPlaylist(facts(segments, { partSeconds: null }), { window: 4 })
  expect(plain).not.toMatch(/PART|HINT|INDEPENDENT|s2|ENDLIST|00:00:04/)
  expect(plain).toContain('#EXT-X-VERSION:7\n')
  const ended = hlsPlaylist(facts([segment(1)], { ended: true }), { window: 4 })
  expect(ended).toMatch(/s1\.m4s\n#EXT-X-ENDLIST\n$/)
  expect(ended).not.toMatch(/PART|HINT/)
})

test('a master playlist leaves out what is not known', () => {
  const rates = { bandwidth: 1000, averageBandwidth: 800 }
  const variant = { ...rates, rendition: 'v0', codecs: '', size: null, frameRate: null, range: 'SDR' } as const
  const whole = { ...variant, codecs: 'avc1.64001f,mp4a.40.2', size: { width: 1280, height: 720 }, frameRate: 29.97 }
  expect(hlsMaster([variant, whole], (rendition) => `${rendition}/media.m3u8`)).toBe(`#EXTM3U
#EXT-X-VERSION:7
#EXT-X-STREAM-INF:BANDWIDTH=1000,AVERAGE-BANDWIDTH=800
v0/media.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=29.970,AVERAGE-BANDWIDTH=800
v0/media.m3u8
`)
})

test('a master playlist with several video codecs says which variant looks best', () => {
  const variant = { bandwidth: 1000, averageBandwidth: 800, frameRate: 25, range: 'SDR' } as const
  const source = { ...variant, rendition: 'v0', codecs: 'av01.0.08M.08,mp4a.40.2', size: { width: 1920, height: 1080 } }
  const small = { ...variant, rendition: 'v480', codecs: 'avc1.64001f,mp4a.40.2', size: { width: 854, height: 480 } }
  const alone = { ...variant, rendition: 'audio', codecs: 'mp4a.40.2', size: null }
  const scores = (...variants: Parameters<typeof hlsMaster>[0]) =>
    hlsMaster(variants, (rendition) => rendition).match(/(?<=SCORE=)\d+$/gm)
  expect(scores(source, small, alone)).toEqual(['1080', '480', '1'])
  expect(scores(small, alone)).toBeNull()
})

test('a master playlist with HDR says the range of each video', () => {
  const variant = { bandwidth: 1000, averageBandwidth: 800, frameRate: 25, range: 'SDR' } as const
  const source = {
    ...variant,
    rendition: 'v0',
    codecs: 'hvc1.2.4.L120',
    size: { width: 1920, height: 1080 },
    range: 'PQ',
  } as const
  const small = { ...variant, rendition: 'v480', codecs: 'avc1.64001f', size: { width: 854, height: 480 } }
  const alone = { ...variant, rendition: 'audio', codecs: 'mp4a.40.2', size: null }
  const ranges = (...variants: Parameters<typeof hlsMaster>[0]) =>
    hlsMaster(variants, (rendition) => rendition).match(/(?<=VIDEO-RANGE=)[^,\n]+/g)
  expect(ranges(source, small, alone)).toEqual(['PQ', 'SDR'])
  expect(ranges(small, alone)).toBeNull()
})
