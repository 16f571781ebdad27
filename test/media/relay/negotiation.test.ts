import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { BitrateMeter, type Source } from '../../../src/media/relay/forward/source.ts'
import { idleAnswer, negotiatePublish, negotiateView, viewAnswers } from '../../../src/media/relay/negotiation.ts'

const offer = (name: string): string => readFileSync(new URL(`wire/offers/${name}.sdp`, import.meta.url), 'utf8')
const [PUBLISH, SIMULCAST, VIEW] = [offer('browser-publish'), offer('browser-simulcast'), offer('browser-view')]
const audio = new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, null)
const track = new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, null)
const source = (over: Partial<Source> = {}): Source => ({
  sessionId: 'p',
  sourceId: null,
  audio,
  layers: [{ rid: '', track, meter: new BitrateMeter(0) }],
  profile: null,
  ...over,
})

function publish(text: string, codec: string | null) {
  const agreed = negotiatePublish(text, codec)
  if (!agreed.ok) return agreed.error
  return agreed.value
}

test('a publisher sends what its offer and the wanted codec have in common', () => {
  expect(publish(PUBLISH, 'VP8')).toMatchObject({
    lines: [
      { media: { kind: 'audio' }, chosen: { name: 'opus' } },
      { media: { kind: 'video' }, chosen: { name: 'vp8' } },
    ],
    answers: [
      { direction: 'recvonly', rids: [] },
      { direction: 'recvonly', rids: [] },
    ],
  })
  expect(publish(SIMULCAST, null)).toMatchObject({ answers: [{ direction: 'recvonly', rids: ['h', 'm', 'l'] }] })
})

test('m-lines that are no media are rejected, and are none of its lines', () => {
  const data = 'm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:2\r\n'
  const agreed = publish(PUBLISH.replace('BUNDLE 0 1', 'BUNDLE 0 1 2') + data, 'vp8')
  if (!('lines' in agreed)) throw new Error(agreed.problem)
  expect([agreed.lines.length, agreed.answers.length, agreed.answers[2]]).toEqual([2, 3, null])
})

test.each([
  ['video', ['recvonly', 'inactive'], ['audio']],
  ['audio', ['inactive', 'recvonly'], ['video']],
] as const)(
  'a publisher that leaves the %s out gets an answer in which nothing flows there',
  (without, directions, kinds) => {
    for (const codec of [null, 'vp8']) {
      const agreed = negotiatePublish(PUBLISH, codec, without)
      if (!agreed.ok) throw new Error(agreed.error.problem)
      expect(agreed.value.answers.map((answer) => answer?.direction)).toEqual(directions)
      expect(agreed.value.lines.map(({ media }) => media.kind)).toEqual(kinds)
    }
  },
)

test('a publisher that leaves out all that it offers is refused', () => {
  const [head, ...lines] = PUBLISH.split(/^(?=m=)/m)
  const only = (kind: string) => `${head}${lines.filter((line) => line.startsWith(`m=${kind}`)).join('')}`
  const video = only('video').replace('BUNDLE 0 1', 'BUNDLE 1')
  expect(negotiatePublish(video, null, null)).toMatchObject({ ok: true })
  expect(negotiatePublish(video, null, 'video')).toMatchObject({
    error: { status: 406, problem: expect.stringContaining('no audio codec') },
  })
  const audio = only('audio').replace('BUNDLE 0 1', 'BUNDLE 0')
  expect(negotiatePublish(audio, null, 'audio')).toMatchObject({
    error: { status: 406, problem: expect.stringContaining('no video codec') },
  })
})

test('an offer that cannot be served is refused with a status and a sentence', () => {
  expect(publish(PUBLISH, 'h266-in-a-very-long-name')).toEqual({
    ok: false,
    status: 406,
    problem: 'The codec h266-in-a-very-long- is not known: h264, vp8, vp9, av1 or h265.',
  })
  expect(publish('hello', 'vp8')).toMatchObject({ ok: false, status: 400 })
  expect(publish(SIMULCAST.replaceAll('VP9', 'XX'), 'vp9')).toMatchObject({ ok: false, status: 406 })
  // What is wrong with the offer comes before what is missing.
  expect(negotiateView('hello', [])).toMatchObject({ ok: false, error: { ok: false, status: 400 } })
  expect(negotiateView(VIEW, [])).toEqual({
    ok: false,
    error: { ok: false, status: 409, problem: 'Stream not being published' },
  })
})

test.each([
  ['video and audio', source(), ['vp8', 'opus', null]],
  ['video alone', source({ audio: null }), ['vp8', null, null]],
  ['audio alone', source({ layers: [] }), [null, 'opus', null]],
])('a viewer receives %s', (_what, from, chosen) => {
  const agreed = negotiateView(VIEW, [from])
  if (!agreed.ok) throw new Error(agreed.error.problem)
  expect(agreed.value.plan.map((one) => one?.name ?? null)).toEqual(chosen)
  expect([agreed.value.wanted.video?.codec, agreed.value.wanted.audio?.codec]).toEqual(
    chosen.slice(0, 2).map((name) => name ?? undefined),
  )
  const answers = viewAnswers(
    agreed.value,
    agreed.value.plan.map((one, at) => {
      if (one === null) return null
      const kind = one.name === 'opus' ? 'audio' : 'video'
      const rtx = kind === 'audio' ? null : { ssrc: 9, payloadTypes: new Map() }
      return {
        options: {
          ssrc: at,
          kind,
          rtx,
          payloadTypes: new Map(),
          transport: { sendRtp: () => undefined },
          firstIndex: 0,
        },
      }
    }),
    'cname',
  )
  const about = { direction: 'sendonly', streamId: 'stream', cname: 'cname' }
  expect(answers).toMatchObject([
    chosen[0] === null ? { direction: 'inactive' } : { ...about, ssrc: 0, rtxSsrc: 9, trackId: 'video' },
    chosen[1] === null ? { direction: 'inactive' } : { ...about, ssrc: 1, rtxSsrc: null, trackId: 'audio' },
    null as never,
  ])
})

test('an m-line that gets no outgoing track is answered as idle', () => {
  const agreed = negotiateView(VIEW, [source()])
  if (!agreed.ok) throw new Error(agreed.error.problem)
  expect(viewAnswers(agreed.value, [null, null, null], 'cname').map((one) => one?.direction)).not.toContain('sendonly')
  expect(idleAnswer(undefined, agreed.value.wanted)).toBeNull()
})

describe('of a stream in two forms', () => {
  const videoOf = (codec: 'hevc' | 'av1' | 'vp8') => ({
    layers: [
      { rid: '', track: new RtpTrack({ kind: 'video', codec, rate: 90_000 }, null), meter: new BitrateMeter(0) },
    ],
  })
  const chosen = (...forms: Source[]) => {
    const agreed = negotiateView(VIEW, forms)
    return agreed.ok ? agreed.value.plan[0]?.name : agreed.error.problem
  }

  test('a viewer gets the first whose codecs it has', () => {
    expect(chosen(source(videoOf('av1')), source())).toBe('av1')
    expect(chosen(source(videoOf('hevc')), source())).toBe('vp8')
  })

  test('a viewer who asks for video and has the codec of none gets no sound alone', () => {
    expect(chosen(source(videoOf('hevc')), source({ layers: [] }))).toMatch(/^The stream's video is HEVC, .* Browsers/)
    const other = negotiateView(VIEW.replaceAll('VP8', 'XX'), [source(videoOf('hevc')), source()])
    expect(other).toMatchObject({
      error: { status: 406, problem: expect.stringMatching(/^The stream's video is VP8,/) },
    })
  })
})
