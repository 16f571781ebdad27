import { describe, expect, test } from 'vitest'
import type { AudioCodec, VideoCodec } from '../../../src/media/codecs/codecs.ts'
import { writeAvcConfig } from '../../../src/media/codecs/h264Config.ts'
import { lengthPrefixed } from '../../../src/media/codecs/nalUnits.ts'
import { parameterSetsOf } from '../../../src/media/codecs/wholeFrame.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { decodeAmf } from '../../../src/media/rtmp/amf0.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import { type Message, MESSAGE } from '../../../src/media/rtmp/messages.ts'
import { connected } from '../../../src/media/rtmp/replies.ts'
import { encoded } from '../ffmpeg/frames.ts'
import { Arrivals } from './arrivals.ts'
import { enhancedAudio, enhancedMessages, enhancedVideo, OPUS_HEAD, PACKET } from './enhanced.ts'
import { AAC_CONFIG, AV1_CONFIG, AVC_CONFIG, avcConfig, HEVC_CONFIG, message, recordOf, videoFrame } from './media.ts'

function taken(messages: readonly Message[], clock?: { monotonic: () => number }) {
  const [lists, frames, leftOut]: [(readonly TrackInfo[])[], Frame[], string[]] = [[], [], []]
  const sink: FrameSink = {
    tracks: (tracks) => void lists.push(tracks),
    frame: (frame) => void frames.push(frame),
    end: () => undefined,
  }
  const arrivals = new Arrivals()
  const ingest = new RtmpIngest(sink, { clock: clock ?? arrivals, leftOut: (what) => leftOut.push(what) })
  const problems = messages.flatMap((one) => {
    const result = ingest.take(arrivals.arrive(one))
    return result.ok ? [] : [result.error.message]
  })
  return { lists, frames, leftOut, problems }
}

const CASES: [VideoCodec, AudioCodec, number][] = [
  ['h264', 'aac', 2],
  ['hevc', 'opus', 2],
  ['av1', 'opus', 0],
  ['vp9', 'opus', 0],
  ['vp8', 'opus', 0],
]

test.each(CASES)(
  '%s and %s arrive with each frame, its times and what describes them',
  async (video, audio, bframes) => {
    const recorded = await encoded({ video, audio, seconds: 3, bframes })
    const { lists, frames, leftOut, problems } = taken(enhancedMessages(recorded))
    expect([problems, leftOut, lists.length]).toEqual([[], [], 1])
    expect(lists[0]).toMatchObject([
      { codec: video, width: 160, height: 120 },
      { codec: audio, channels: 2 },
    ])
    // Audio waits for the keyframe that describes the video.
    const begins = recorded.frames.length - frames.length
    expect(recorded.frames.slice(0, begins).filter(({ kind }) => kind === 'video')).toEqual([])
    for (const [at, { kind, key, timeUs, data }] of frames.entries()) {
      const sent = recorded.frames[begins + at]
      expect([kind, key]).toEqual([sent?.kind, sent?.key])
      expect(Buffer.from(data).equals(sent?.data ?? Buffer.alloc(0))).toBe(true)
      expect(Math.abs(timeUs - (sent?.timeUs ?? 0))).toBeLessThanOrEqual(1000)
    }
    const decoded = frames.filter(({ kind }) => kind === 'video').map(({ decodeTimeUs }) => decodeTimeUs)
    expect(decoded).toEqual(decoded.toSorted((a, b) => a - b))
  },
)

const NAL = Buffer.from([0, 0, 0, 3, 0x26, 1, 7])
const hevc = (type: number, body: Buffer, key = true) => enhancedVideo('hvc1', type, body, { key })
const started = [hevc(PACKET.start, HEVC_CONFIG), hevc(PACKET.framesX, NAL)]

describe('an extension in front of the packet type', () => {
  /** The bytes of an extension; its own type and the packet type are in the last. */
  const modified = (extension: readonly number[], timestamp = 40): Message =>
    message(MESSAGE.video, timestamp, [0x97, ...extension], Buffer.from('hvc1'), NAL)
  const NANOSECONDS = 0x00
  const timesOf = (one: Message): number[] => taken([...started, one]).frames.map(({ timeUs }) => timeUs)

  test('may have nanoseconds, which are added to the time', () => {
    expect(timesOf(modified([2, 0x07, 0xa1, 0x20, NANOSECONDS | PACKET.framesX]))).toEqual([0, 40_500])
    // More than a millisecond belongs into the timestamp.
    expect(timesOf(modified([2, 0xff, 0xff, 0xff, NANOSECONDS | PACKET.framesX]))).toEqual([0, 40_999])
  })

  test('is passed over when its type is unknown, whatever its size', () => {
    expect(timesOf(modified([0, 9, 0xf0 | PACKET.framesX]))).toEqual([0, 40_000])
    expect(timesOf(modified([0xff, 1, 0x2c, ...Buffer.alloc(301), 0x10 | PACKET.framesX]))).toEqual([0, 40_000])
    expect(timesOf(modified([0, 9, 0x17, 1, 9, 9, 0xf0 | PACKET.framesX]))).toEqual([0, 40_000])
  })

  test('that is cut short is left out', () => {
    for (const short of [[], [9, 1], [0xff], [0xff, 1], [0xff, 0xff, 0xff, 0]])
      expect(taken([...started, message(MESSAGE.video, 40, [0x97, ...short])])).toMatchObject({
        frames: [{ timeUs: 0 }],
        leftOut: ['A video message is cut short'],
      })
  })
})

describe('keyframes', () => {
  test('of HEVC are pictures that a decoder can begin with, whatever their mark says', () => {
    const slice = (type: number) => Buffer.from([0, 0, 0, 3, type << 1, 1, 7])
    const sent = [19, 20, 21, 1, 0].flatMap((type) => [
      hevc(PACKET.framesX, slice(type), true),
      hevc(PACKET.framesX, slice(type), false),
    ])
    const keys = taken([...started, ...sent]).frames.map(({ key }) => key)
    expect(keys.slice(1)).toEqual([...Array(6).fill(true), ...Array(4).fill(false)])
  })
})

test('a configuration of AV1 may lack what keyframes say, and come again', () => {
  const empty = enhancedVideo('av01', PACKET.start, AV1_CONFIG.subarray(0, 4))
  const frame = (key: boolean, ...obus: Buffer[]) => enhancedVideo('av01', PACKET.frames, Buffer.concat(obus), { key })
  const [delimiter, header, tile] = [Buffer.from([0x12, 0]), AV1_CONFIG.subarray(4), Buffer.from([0x32, 1, 9])]
  const { lists, frames, leftOut } = taken([empty, frame(true, delimiter, header, tile), empty, frame(false, tile)])
  expect([lists.length, leftOut]).toEqual([1, []])
  expect(lists[0]).toMatchObject([{ codec: 'av1', width: 98, height: 66, config: AV1_CONFIG }])
  expect(frames.map(({ data }) => data)).toEqual([Buffer.concat([header, tile]), tile])
})

test('commands, metadata and ends of sequences carry no media', () => {
  const empty = [
    message(MESSAGE.video, 0, [0xd0, 0]),
    hevc(4, Buffer.from([2, 0, 1, 0x61])),
    hevc(2, Buffer.alloc(0)),
    hevc(PACKET.framesX, Buffer.alloc(0)),
    enhancedAudio('Opus', 2, Buffer.alloc(0)),
    enhancedAudio('Opus', 4, Buffer.from([1, 2, 0, 0, 0, 3])),
  ]
  expect(taken([...started, ...empty])).toMatchObject({ frames: [{ timeUs: 0 }], leftOut: [], problems: [] })
})

test('Opus needs no configuration, and AAC may be enhanced beside video that is not', () => {
  const packet = (at: number) => enhancedAudio('Opus', PACKET.frames, Buffer.from([0xfc, 1]), at)
  expect(taken([packet(0), packet(500)]).lists).toMatchObject([[{ codec: 'opus', sampleRate: 48_000, channels: 2 }]])
  const aac = [enhancedAudio('mp4a', PACKET.start, AAC_CONFIG), enhancedAudio('mp4a', PACKET.frames, NAL)]
  expect(taken([...aac, ...started]).lists).toMatchObject([[{ codec: 'hevc' }, { codec: 'aac', sampleRate: 44_100 }]])
})

test('a publisher that changes a track again and again is left out in between, since each change starts processes again', () => {
  const changes = Array.from({ length: 24 }, (_, at) => [
    enhancedAudio('mp4a', PACKET.start, Buffer.from([at % 2 === 0 ? 0x12 : 0x11, at % 2 === 0 ? 0x10 : 0x90])),
    enhancedAudio('mp4a', PACKET.frames, NAL, 1000 + at * 20),
  ]).flat()
  const audio = [enhancedAudio('mp4a', PACKET.start, AAC_CONFIG), enhancedAudio('mp4a', PACKET.frames, NAL)]
  const listsIn = (stepMs: number) => {
    let nowMs = 0
    const { lists, frames, leftOut, problems } = taken([...audio, ...changes], { monotonic: () => (nowMs += stepMs) })
    return [lists.length, frames.length, new Set(leftOut), problems]
  }
  const tooOften = 'The tracks change more than once a second; media is left out until they may change again'
  expect(listsIn(0)).toEqual([5, 5, new Set([tooOften]), []])
  // As between recordings that are joined.
  expect(listsIn(1000)).toEqual([24, 24, new Set(), []])
})

/** A configuration with so many more parameter sets, each of two bytes. */
function crowded(sets: number): Buffer {
  const array = Buffer.from([0x22, sets >> 8, sets & 255])
  const config = Buffer.concat([HEVC_CONFIG, array, ...Array<Buffer>(sets).fill(Buffer.from([0, 2, 0x44, 1]))])
  config.writeUInt8(4, 22)
  return config
}

test('a configuration of HEVC may have as many parameter sets as a frame', () => {
  const sent = [hevc(PACKET.start, crowded(1021)), hevc(PACKET.framesX, NAL)]
  expect(taken(sent)).toMatchObject({ frames: [{}], leftOut: [] })
})

describe('is left out, and the rest goes on', () => {
  const short = (type: number, ...bytes: number[]) => message(type, 0, bytes)
  test.each([
    ['a message without a whole fourcc', short(MESSAGE.video, 0x90, 0x68), 'A video message is cut short'],
    ['a message of a track without its id', short(MESSAGE.audio, 0x95, 1, 1, 1, 1, 1), 'An audio message is cut short'],
    ['half a composition time', hevc(PACKET.frames, Buffer.from([0, 0])), 'A video message is cut short'],
    [
      'a configuration of half a record',
      hevc(PACKET.start, HEVC_CONFIG.subarray(0, 60)),
      'The HEVC configuration cannot be read',
    ],
    [
      'a configuration of a thousand parameter sets and more',
      hevc(PACKET.start, crowded(1022)),
      'The HEVC configuration cannot be read',
    ],
    [
      'a frame whose lengths do not add up',
      hevc(PACKET.framesX, NAL.subarray(0, 6)),
      'A video frame is malformed: the lengths of its NAL units do not add up',
    ],
    [
      // The recording of its few seconds had two hours.
      'a frame that is shown hours from its decoding',
      hevc(PACKET.frames, Buffer.concat([Buffer.from('7fffff', 'hex'), NAL])),
      'A video frame is malformed: it is shown more than ten seconds before or after it is decoded',
    ],
    [
      'a record that is not of AV1',
      enhancedVideo('av01', PACKET.start, Buffer.from([1, 0, 0, 0])),
      'The AV1 configuration cannot be read',
    ],
    [
      'Opus that fits no datagram',
      enhancedAudio('Opus', PACKET.frames, Buffer.alloc(1276)),
      'A packet of Opus has more than 1275 bytes',
    ],
  ])('%s', (_, bad, why) => {
    const start = enhancedAudio('Opus', PACKET.start, OPUS_HEAD)
    const { frames, leftOut, problems } = taken([start, ...started, bad, hevc(PACKET.framesX, NAL)])
    expect([frames.length, leftOut, problems]).toEqual([2, [why], []])
  })

  test('a frame of AV1 whose units do not add up', () => {
    const frame = (...bytes: number[]) => enhancedVideo('av01', PACKET.frames, Buffer.from(bytes))
    const sent = [enhancedVideo('av01', PACKET.start, AV1_CONFIG), frame(0x32, 9, 1), frame(0x12, 0)]
    const why = 'A video frame is malformed: the lengths of its OBUs do not add up'
    expect(taken(sent)).toMatchObject({ frames: [], leftOut: [why, why] })
  })
})

test('the answer to connect says what may be published', () => {
  const values = decodeAmf(connected(1).at(-1)?.payload ?? Buffer.alloc(0))
  const info = values.ok ? values.value[3] : null
  if (!(info instanceof Map)) throw new Error('the answer has no information')
  expect(info.get('code')).toBe('NetConnection.Connect.Success')
  expect(info.get('capsEx')).toBe(0x0f)
  expect(info.get('fourCcList')).toEqual(['avc1', 'hvc1', 'av01', 'vp09', 'vp08', 'mp4a', 'Opus'])
  expect(info.get('videoFourCcInfoMap')).toEqual(
    new Map(['avc1', 'hvc1', 'av01', 'vp09', 'vp08'].map((one) => [one, 5])),
  )
  expect(info.get('audioFourCcInfoMap')).toEqual(new Map(['mp4a', 'Opus'].map((one) => [one, 5])))
})

describe('parameter sets in keyframes', () => {
  const LARGE = Buffer.from('6764001facd9405005bb011000000300100000030320f1831960', 'hex')
  const idr = Buffer.from([0x65, 0x88])
  /** A keyframe with the sets of a record in front of its picture. */
  const keyframe = (record: Buffer): Message =>
    message(MESSAGE.video, 0, [0x17, 1, 0, 0, 0], lengthPrefixed([...parameterSetsOf('h264', record), idr]))

  test('of another size than the configuration were not seen, as those of what `ffmpeg -f concat` copies', () => {
    const again = [keyframe(recordOf(LARGE)), avcConfig(), keyframe(recordOf(LARGE))]
    const { lists } = taken([avcConfig(), videoFrame(0), ...again, keyframe(AVC_CONFIG)])
    expect(lists).toMatchObject([[{ width: 320 }], [{ width: 1280, config: recordOf(LARGE) }], [{ width: 320 }]])
  })

  test('that repeat the configuration, or some of it, are no other one', () => {
    const [sps, pps = Buffer.alloc(0)] = parameterSetsOf('h264', AVC_CONFIG)
    const twoPps = writeAvcConfig({ sps: [sps ?? pps], pps: [pps, Buffer.from([0x68, 1])] }) ?? pps
    for (const config of [AVC_CONFIG, twoPps])
      expect(taken([avcConfig(config), videoFrame(0), keyframe(AVC_CONFIG)]).lists).toMatchObject([[{ config }]])
  })

  test('of HEVC count as well', () => {
    const [vps, sps, pps] = parameterSetsOf('hevc', HEVC_CONFIG) as [Buffer, Buffer, Buffer]
    const other = Buffer.concat([pps, Buffer.from([0x80])])
    const frame = enhancedVideo('hvc1', PACKET.framesX, lengthPrefixed([vps, sps, other, Buffer.from([0x26, 1, 0xaf])]))
    const { lists } = taken([enhancedVideo('hvc1', PACKET.start, HEVC_CONFIG), frame, frame])
    expect(lists).toHaveLength(1)
    expect(parameterSetsOf('hevc', Buffer.from(lists[0]?.[0]?.config ?? []))).toEqual([vps, sps, other])
  })
})
