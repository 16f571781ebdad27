import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  docsOf,
  FINDING_CODES,
  type FindingCode,
  findingOf,
  FINDINGS,
  FindingWatch,
  isFindingCode,
  type SourceFacts,
} from '../../../src/core/streams/findings.ts'
import { SOURCE_FIGURES, SOURCE_TEXTS, type SourceReading } from '../../../src/core/streams/source.ts'
import { de } from '../../../web/dashboard/src/words/de.ts'
import { en } from '../../../web/dashboard/src/words/en.ts'

const GOOD: SourceReading = {
  declaredFrameRate: 30,
  sentFrameRate: 30,
  unevenFrames: 0,
  keyframeMs: 2000,
  longestKeyframeMs: 2000,
  bFrames: 0,
  videoGaps: 0,
  sampleRate: 48_000,
  channels: 2,
  silentMs: 0,
  audioLevelDb: -9,
  clippedAudio: 0,
  skewMs: 30,
  behindMs: 40,
  clockJumps: 0,
  packetLoss: 0.001,
  packetsGivenUp: 0,
  jitterMs: 3,
  roundTripMs: 40,
  videoProfile: 'High',
  videoLevel: '4.1',
}

const codesOf = (source: SourceReading, protocol: SourceFacts['protocol'] = 'rtmp'): FindingCode[] => {
  const watch = new FindingWatch()
  for (const atMs of [0, 2000]) watch.look({ protocol, source: { ...GOOD, ...source } }, atMs, atMs)
  return watch.found().map(({ code }) => code)
}

/** The last value of each that is right, and the first that is wrong. */
const LIMITS: Readonly<Record<FindingCode, readonly [SourceReading, SourceReading]>> = {
  link_slow: [{ behindMs: 1500 }, { behindMs: 1501 }],
  packet_loss: [{ packetLoss: 0.02 }, { packetLoss: 0.021 }],
  latency_short: [{ packetsGivenUp: 0.001 }, { packetsGivenUp: 0.0011 }],
  clock_jumps: [{ clockJumps: 0 }, { clockJumps: 1 }],
  audio_video_skew: [{ skewMs: -500 }, { skewMs: -501 }],
  video_profile: [{ videoProfile: 'Main 10' }, { videoProfile: 'High 10' }],
  keyframe_interval: [{ longestKeyframeMs: 4000 }, { longestKeyframeMs: 4001 }],
  frame_rate: [{ sentFrameRate: 24 }, { sentFrameRate: 23.9 }],
  video_gaps: [{ videoGaps: 0 }, { videoGaps: 1 }],
  audio_silent: [{ silentMs: 8000 }, { silentMs: 8001 }],
  audio_clipped: [{ clippedAudio: 0.05 }, { clippedAudio: 0.051 }],
  audio_rate: [{ sampleRate: 32_000 }, { sampleRate: 24_000 }],
  keyframe_requests: [{ keyframeWaitMs: 3000 }, { keyframeWaitMs: 3001 }],
  b_frames: [{ bFrames: 0.01 }, { bFrames: 0.011 }],
}

describe('what is wrong with media', () => {
  it.each(FINDING_CODES)('%s is found beyond its threshold, and not at it', (code) => {
    const [right, wrong] = LIMITS[code]
    expect(codesOf(right)).toEqual([])
    expect(codesOf(wrong)).toEqual([code])
  })

  it('is nothing where nothing is known, and the worst is first', () => {
    expect(codesOf({})).toEqual([])
    const watch = new FindingWatch()
    for (const atMs of [0, 2000]) watch.look({ protocol: 'srt', source: {} }, atMs, atMs)
    expect(watch.found()).toEqual([])
    watch.look({ protocol: 'srt', source: { sentFrameRate: 1, videoProfile: 'x' } }, 4000, 4000)
    watch.look({ protocol: 'srt', source: { sentFrameRate: 1, videoProfile: 'x' } }, 6000, 6000)
    expect(watch.found()).toEqual([{ code: 'video_profile', value: 1, sinceMs: 4000 }])
    expect(codesOf({ bFrames: 0.5, silentMs: 20_000, behindMs: 9000 })).toEqual([
      'link_slow',
      'audio_silent',
      'b_frames',
    ])
  })

  it('is not judged where publishers send pictures and keyframes when they are needed', () => {
    expect(codesOf({ longestKeyframeMs: 60_000, videoGaps: 3 }, 'whip')).toEqual([])
    expect(codesOf({ longestKeyframeMs: 60_000, videoGaps: 3 }, 'srt')).toEqual(['keyframe_interval', 'video_gaps'])
  })

  it('counts from its second look in a row, and until it was not seen for ten seconds', () => {
    const watch = new FindingWatch()
    const look = (atMs: number, source: SourceReading): string[] => {
      watch.look({ protocol: 'rtmp', source: { ...GOOD, ...source } }, 1_700_000_000_000 + atMs, atMs)
      return watch.found().map(({ code, value, sinceMs }) => `${code} ${value} ${sinceMs - 1_700_000_000_000}`)
    }
    expect(look(0, { behindMs: 3000 })).toEqual([])
    expect(look(2000, {})).toEqual([])
    expect(look(4000, { behindMs: 2000 })).toEqual([])
    expect(look(6000, { behindMs: 2500 })).toEqual(['link_slow 2500 4000'])
    for (const atMs of [8000, 10_000, 12_000, 14_000]) expect(look(atMs, {})).toHaveLength(1)
    expect(look(14_500, { behindMs: 1800 })).toEqual(['link_slow 1800 4000'])
    expect(look(24_000, {})).toHaveLength(1)
    expect(look(24_500, {})).toEqual([])
  })
})

it('a code is one of the table, and nothing that an object has', () => {
  expect(FINDING_CODES.every(isFindingCode)).toBe(true)
  expect(['toString', '__proto__', 'LINK_SLOW', 5, null].filter(isFindingCode)).toEqual([])
})

describe('the sentences', () => {
  const page = readFileSync(new URL('../../../docs/guides/stream-health.md', import.meta.url), 'utf8')
  const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'))
  const source = { declaredFrameRate: 30, videoProfile: 'High 10' }
  const shownOf = (code: FindingCode) => findingOf({ code, value: 0.5, sinceMs: 0 }, source)

  it('fill in what they say', () => {
    const said = (code: FindingCode, value: number) => findingOf({ code, value, sinceMs: 0 }, source).text
    expect(said('keyframe_interval', 20_000)).toBe(
      'Keyframe every 20 s: viewers wait up to 20 s for their first picture, and HLS is as late.',
    )
    expect(said('frame_rate', 12)).toMatch(/^12 frames a second come, where the video says 30\./)
    const stays = { code: 'frame_rate', value: 12, sinceMs: 0 } as const
    expect(findingOf(stays, {}).text).toMatch(/^12 frames a second come, where the video says \?\./)
    expect(said('audio_silent', 99_949)).toMatch(/^No sound at all for 99.9 s:/)
    expect(said('audio_silent', 99_950)).toMatch(/^No sound at all for 2 min:/)
    expect(said('audio_silent', 675_300)).toMatch(/^No sound at all for 11 min:/)
    expect(said('audio_video_skew', -2040)).toMatch(/arrive 2 s apart/)
    expect(said('packet_loss', 0.0512)).toMatch(/^5.1% of/)
    expect(said('audio_rate', 8000)).toMatch(/8 kHz/)
    expect(said('clock_jumps', 3)).toMatch(/3 × in the last minute/)
    expect(said('video_profile', 1)).toMatch(/profile High 10,/)
    for (const code of FINDING_CODES) expect(shownOf(code).text + FINDINGS[code].advice).not.toMatch(/[{}]/)
  })

  it.each(FINDING_CODES)(
    'of %s are those of the page in English, exist in German, and have a heading in the documents',
    (code) => {
      const { text, advice, shown, docs } = shownOf(code)
      const own = en.stream.media.findings[code]
      const of = code === 'frame_rate' ? '30' : 'High 10'
      expect([own.text(shown, of), own.advice]).toEqual([text, advice])
      expect(de.stream?.media?.findings?.[code]?.advice).toMatch(/\w/)
      expect(docs).toBe(docsOf(code))
      expect(headings).toContain(docs.split('#')[1])
      expect(page).toContain(`[\`${code}\`]`)
    },
  )

  it('of the figures stand in the documents', () => {
    for (const [name, text] of Object.entries({ ...SOURCE_FIGURES, ...SOURCE_TEXTS }))
      expect(page).toContain(`| \`${name}\` | ${text} |`)
  })
})
