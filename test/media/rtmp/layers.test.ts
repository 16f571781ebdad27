import { describe, expect, test } from 'vitest'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import type { Message } from '../../../src/media/rtmp/messages.ts'
import { encoded } from '../ffmpeg/frames.ts'
import {
  enhancedAudio,
  enhancedVideo,
  FORM,
  layeredMessages,
  ofTrack,
  ofTracks,
  OPUS_HEAD,
  PACKET,
} from './enhanced.ts'
import { Arrivals } from './arrivals.ts'
import { AAC_CONFIG, AV1_CONFIG, AVC_CONFIG, avcConfig, HEVC_CONFIG, recordOf, videoFrame } from './media.ts'

interface Listening {
  readonly takesLayers?: boolean
  readonly audioNumbers?: readonly (number | null)[]
}

function taken(messages: readonly Message[], { takesLayers = true, audioNumbers = [] }: Listening = {}) {
  const [lists, frames, leftOut]: [(readonly TrackInfo[])[], Frame[], string[]] = [[], [], []]
  const sink = {
    ...(takesLayers && { takesLayers }),
    tracks: (tracks: readonly TrackInfo[]) => void lists.push(tracks),
    frame: (frame: Frame) => void frames.push(frame),
    end: () => undefined,
  }
  const clock = new Arrivals()
  const ingest = new RtmpIngest(sink, { clock, leftOut: (what) => leftOut.push(what), audioNumbers })
  const problems = messages.flatMap((one) => {
    const result = ingest.take(clock.arrive(one))
    return result.ok ? [] : [result.error.message]
  })
  const named = lists.map((tracks) =>
    tracks.map((track) => (track.kind === 'video' ? `${track.layer ?? 'alone'} ${track.width}` : track.codec)),
  )
  return { lists: named, frames, leftOut, problems }
}

/** 640x480, as x264 writes it. */
const LARGE = recordOf(Buffer.from('6742c01eda0280f684000003000400000300f03c58baa0', 'hex'))
const NAL = Buffer.from([0, 0, 0, 3, 0x65, 1, 7])
const PREDICTED = Buffer.from([0, 0, 0, 3, 0x41, 1, 7])
const config = (record: Buffer): Message => enhancedVideo('avc1', PACKET.start, record)
const frame = (timestamp: number, key = true): Message =>
  enhancedVideo('avc1', PACKET.framesX, key ? NAL : PREDICTED, { timestamp, key })
const track = (trackId: number, ...messages: readonly Message[]): Message[] =>
  messages.map((one) => ofTrack(trackId, one))

const layersOf = (frames: readonly Frame[]): string[] => frames.map(({ layer }) => layer ?? 'alone')

describe('video tracks are layers of one picture', () => {
  test('as OBS sends them: the first one as if it were alone', async () => {
    const sizes = await Promise.all(
      ['320x240', '160x120', '80x60'].map((size) => encoded({ video: 'h264', audio: 'aac', seconds: 1, size })),
    )
    const { lists, frames, leftOut, problems } = taken(layeredMessages(sizes))
    expect([lists, leftOut, problems]).toEqual([[['0 320', '1 160', '2 80', 'aac']], [], []])
    for (const [at, sent] of sizes.entries()) {
      const own = frames.filter(({ kind, layer }) => kind === 'video' && layer === String(at))
      const video = sent.frames.filter(({ kind }) => kind === 'video')
      expect(own.map(({ data }) => Buffer.from(data))).toEqual(video.map(({ data }) => Buffer.from(data)))
      expect(own.map(({ key }) => key)).toEqual(video.map(({ key }) => key))
    }
  })

  test.each(Object.entries(FORM))('in messages of the form %s', (_, form) => {
    const both = (large: Message, small: Message): Message[] => {
      const tracks = [
        { trackId: 1, sent: large },
        { trackId: 7, sent: small },
      ]
      return form === FORM.oneTrack ? tracks.map((one) => ofTracks(form, [one])) : [ofTracks(form, tracks)]
    }
    const sent = [
      ...both(config(LARGE), config(AVC_CONFIG)),
      ...both(frame(0), frame(0)),
      ...both(frame(40), frame(40)),
    ]
    const { lists, frames, leftOut } = taken(sent)
    expect([lists, leftOut]).toEqual([[['1 640', '7 320']], []])
    expect(frames.map(({ layer, timeUs }) => `${layer} ${timeUs}`)).toEqual(['1 0', '7 0', '1 40000', '7 40000'])
    expect(frames.every(({ data }) => Buffer.from(data).equals(NAL))).toBe(true)
  })

  test('and each has the nanoseconds of its messages', () => {
    const sent = frame(40)
    const late = ofTrack(1, sent)
    const payload = Buffer.concat([Buffer.from([0x97, 2, 0x07, 0xa1, 0x20, 6]), late.payload.subarray(1)])
    const { frames } = taken([
      config(LARGE),
      ...track(1, config(AVC_CONFIG)),
      frame(0),
      frame(40),
      { ...late, payload },
    ])
    expect(frames.map(({ layer, timeUs }) => `${layer} ${timeUs}`)).toEqual(['0 0', '0 40000', '1 40500'])
  })

  test('of which a sink of one gets the largest, whatever its number', () => {
    const sent = [config(AVC_CONFIG), ...track(3, config(LARGE)), frame(0), ...track(3, frame(0)), frame(40)]
    const { lists, frames } = taken(sent, { takesLayers: false })
    expect([lists, frames.length]).toEqual([[['alone 640']], 1])
  })

  test('and one that stops gives its place to another, until it is back', () => {
    const small = (timestamp: number) => ofTrack(1, frame(timestamp))
    const sent = [config(LARGE), ...track(1, config(AVC_CONFIG)), frame(0), small(0), small(2000), small(4000)]
    const { lists, frames } = taken([...sent, small(5000), frame(6000, false), frame(7000)], { takesLayers: false })
    expect(lists).toEqual([['alone 640'], ['alone 320'], ['alone 640']])
    expect(frames.map(({ timeUs }) => timeUs / 1000)).toEqual([0, 4000, 5000, 7000])
  })

  test('and one that comes late begins with its keyframe', () => {
    const late = (timestamp: number, key: boolean) => ofTrack(1, frame(timestamp, key))
    const sent = [
      avcConfig(),
      videoFrame(0),
      ofTrack(1, config(LARGE)),
      late(40, false),
      videoFrame(40),
      late(80, true),
    ]
    const { lists, frames, leftOut } = taken([...sent, videoFrame(80)])
    expect([lists, leftOut]).toEqual([[['alone 320'], ['1 640', '0 320']], []])
    expect(layersOf(frames)).toEqual(['alone', 'alone', '1', '0'])
  })

  test('and one whose frames come before its configuration waits for it', () => {
    const sent = [...track(1, frame(0)), config(LARGE), frame(0), ...track(1, frame(40), config(AVC_CONFIG), frame(80))]
    expect(layersOf(taken(sent).frames)).toEqual(['alone', '1'])
    expect(taken([config(LARGE), frame(0), ...track(1, frame(0), frame(6000))]).leftOut).toEqual([
      'Video came before its configuration',
    ])
  })

  test('which are as many as WHIP has', () => {
    const nine = Array.from({ length: 9 }, (_, id) => ofTrack(id, config(AVC_CONFIG)))
    const why = 'More than 8 video tracks are not supported; send 8 at most'
    expect(taken(nine).problems).toEqual([why])
    const { lists, leftOut, problems } = taken([...nine.slice(0, 8), frame(0), ...nine.slice(8)])
    expect([lists[0]?.length, leftOut, problems]).toEqual([8, [why], []])
  })

  test('of one codec: another one refuses the publisher before its first frame, and is left out after it', () => {
    const hevc = ofTrack(2, enhancedVideo('hvc1', PACKET.start, HEVC_CONFIG))
    const why =
      'Video tracks of several codecs are not supported: track 2 is HEVC, and track 0 H264; send one codec in all of them'
    expect(taken([config(LARGE), hevc]).problems).toEqual([why])
    expect(taken([config(LARGE), frame(0), hevc, frame(40)])).toMatchObject({
      lists: [['alone 640']],
      frames: [{ timeUs: 0 }, { timeUs: 40_000 }],
      leftOut: [why],
      problems: [],
    })
    const unknown = ofTrack(1, { ...config(LARGE), payload: Buffer.from('\x90vvc1\x01', 'latin1') })
    expect(taken([config(LARGE), unknown]).problems).toMatchObject([/vvc1 is not supported/])
  })

  test('of AV1, whose sizes keyframes say', () => {
    const [delimiter, header, tile] = [Buffer.from([0x12, 0]), AV1_CONFIG.subarray(4), Buffer.from([0x32, 1, 9])]
    const start = enhancedVideo('av01', PACKET.start, AV1_CONFIG)
    const key = enhancedVideo('av01', PACKET.frames, Buffer.concat([delimiter, header, tile]))
    const { lists, frames } = taken([start, ...track(1, start), key, ...track(1, key)])
    expect(lists.at(-1)).toEqual(['0 98', '1 98'])
    expect(layersOf(frames)).toEqual(['0', '1'])
  })
})

describe('a message of several tracks that is cut short', () => {
  const both = ofTracks(FORM.manyTracks, [
    { trackId: 0, sent: frame(40) },
    { trackId: 1, sent: frame(40) },
  ])
  const started = [config(LARGE), ...track(1, config(AVC_CONFIG)), frame(0)]

  test('gives its whole tracks, and the rest goes on', () => {
    for (const cut of [1, NAL.length, NAL.length + 3]) {
      const short = { ...both, payload: both.payload.subarray(0, -cut) }
      const { frames, leftOut } = taken([...started, short, frame(80)])
      expect([layersOf(frames), leftOut]).toEqual([['0', '0', '0'], ['A video message is cut short']])
    }
  })

  test('gives nothing without a whole track', () => {
    for (const length of [1, 2, 5, 6, 9, 12]) {
      const short = { ...both, payload: both.payload.subarray(0, length) }
      const { frames, leftOut } = taken([...started, short])
      expect([frames.length, leftOut]).toEqual([1, ['A video message is cut short']])
    }
  })
})

describe('audio tracks', () => {
  const aac = (timestamp: number) => enhancedAudio('mp4a', PACKET.frames, Buffer.from([0x21, 7]), timestamp)
  const sent = [0, 1, 2].flatMap((id) => [
    ofTrack(id, enhancedAudio('mp4a', PACKET.start, AAC_CONFIG)),
    ...[0, 600].map((timestamp) => ofTrack(id, aac(timestamp))),
  ])
  const heard = (audioNumbers: readonly (number | null)[]) => {
    const { frames, leftOut } = taken([config(LARGE), frame(0), ...sent, frame(700)], { audioNumbers })
    return { indexes: new Set(frames.flatMap((one) => (one.kind === 'audio' ? [one.audioIndex ?? 0] : []))), leftOut }
  }

  test('have the indexes of their numbers in the list; the others are dropped', () => {
    expect(heard([2, 0])).toEqual({ indexes: new Set([0, 1]), leftOut: [] })
    expect(heard([1])).toEqual({ indexes: new Set([0]), leftOut: [] })
    expect(heard([null])).toEqual({ indexes: new Set([0]), leftOut: [] })
  })

  test('beside the first are left out by name where none is listed', () => {
    const leftOut = 'The publisher sends several audio tracks; only the first one is taken'
    expect(heard([])).toEqual({ indexes: new Set([0]), leftOut: Array(6).fill(leftOut) })
    const opus = ofTrack(1, enhancedAudio('Opus', PACKET.start, OPUS_HEAD))
    expect(taken([opus]).leftOut).toEqual([leftOut])
  })
})
