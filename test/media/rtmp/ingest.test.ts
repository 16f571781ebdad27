import { describe, expect, test } from 'vitest'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { amfObject, type AmfValue, encodeAmf } from '../../../src/media/rtmp/amf0.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import { type Message, MESSAGE } from '../../../src/media/rtmp/messages.ts'
import { Arrivals } from './arrivals.ts'
import { AAC_CONFIG, aacConfig, audioFrame, AVC_CONFIG, avcConfig, message, recordOf, videoFrame } from './media.ts'

const metadata = (rates: Readonly<Record<string, AmfValue>>): Message =>
  message(MESSAGE.data, 0, encodeAmf(['@setDataFrame', 'onMetaData', amfObject(rates)]))

class Seen implements FrameSink {
  readonly order: string[] = []
  readonly lists: (readonly TrackInfo[])[] = []
  readonly frames: Frame[] = []
  tracks(tracks: readonly TrackInfo[]): void {
    this.lists.push(tracks)
    this.order.push(tracks.map(({ codec }) => codec).join('+'))
  }
  frame(frame: Frame): void {
    this.frames.push(frame)
    this.order.push(`${frame.kind} ${frame.timeUs}`)
  }
  end(): void {
    this.order.push('end')
  }
}

function taken(...messages: readonly Message[]) {
  const seen = new Seen()
  const [leftOut, clock]: [string[], Arrivals] = [[], new Arrivals()]
  const ingest = new RtmpIngest(seen, { clock, leftOut: (what) => leftOut.push(what) })
  const taken = messages.map((one) => ingest.take(clock.arrive(one)))
  const problems = taken.flatMap((result) => (result.ok ? [] : [result.error.message]))
  const counts = taken.map((result) => result.ok && result.value === 'media')
  return { order: seen.order, lists: seen.lists, frames: seen.frames, problems, leftOut, counts }
}

/** Audio for long enough to count as audio only. */
const alone = [aacConfig(), audioFrame(0), audioFrame(500)]

describe('media', () => {
  test('that begins with audio waits half a second for video, so that subscribers begin once', () => {
    expect(
      taken(aacConfig(), audioFrame(0), audioFrame(400), avcConfig(), audioFrame(420), videoFrame(430)).order,
    ).toEqual(['h264+aac', 'video 430000'])
    expect(taken(...alone, audioFrame(520)).order).toEqual(['aac', 'audio 500000', 'audio 520000'])
  })

  test('without the video that was announced was never heard, and gets the video later', () => {
    const cameraOff = [aacConfig(), avcConfig(), audioFrame(0), audioFrame(9990)]
    const { order } = taken(...cameraOff, audioFrame(10_000), avcConfig(), audioFrame(10_020), videoFrame(10_040))
    expect(order).toEqual(['aac', 'audio 10000000', 'audio 10020000', 'h264+aac', 'video 10040000'])
  })

  test('reports both tracks once, before the first frame', () => {
    const { order, lists, problems } = taken(aacConfig(), avcConfig(), videoFrame(0), audioFrame(5), avcConfig())
    expect([order, problems]).toEqual([['h264+aac', 'video 0', 'audio 5000'], []])
    expect(lists[0]).toMatchObject([
      { width: 320, height: 240, config: AVC_CONFIG },
      { sampleRate: 44_100, channels: 2, config: Uint8Array.from(AAC_CONFIG) },
    ])
  })

  test('names the bitrates that the publisher declared before', () => {
    const seen = new Seen()
    const ingest = new RtmpIngest(seen, { clock: { monotonic: () => 0 }, leftOut: () => undefined })
    ingest.declare(metadata({ videodatarate: 2500 }))
    ingest.declare(message(MESSAGE.data, 0, encodeAmf(['onTextData', amfObject({ videodatarate: 1 })])))
    for (const one of [aacConfig(), avcConfig(), videoFrame(0)]) ingest.take(one)
    ingest.declare(metadata({ videodatarate: 1, audiodatarate: 1 }))
    ingest.take(videoFrame(40))
    expect(seen.lists.map((tracks) => tracks.map(({ declaredBitrate }) => declaredBitrate))).toEqual([
      [2_500_000, undefined],
    ])
  })

  test('reports tracks again when the configuration changes', () => {
    const mono = aacConfig(Buffer.from([0x11, 0x88]))
    const { order, lists } = taken(...alone, mono, audioFrame(521), mono, audioFrame(542))
    expect(order).toEqual(['aac', 'audio 500000', 'aac', 'audio 521000', 'audio 542000'])
    expect(lists[1]).toMatchObject([{ sampleRate: 48_000, channels: 1 }])
  })

  test('has separate decode and presentation times, none below zero', () => {
    const { frames } = taken(
      avcConfig(),
      videoFrame(0, 9, { compositionMs: 80 }),
      videoFrame(40, 9, { key: false, compositionMs: -60 }),
    )
    expect(frames.map(({ decodeTimeUs, timeUs, key }) => [decodeTimeUs, timeUs, key])).toEqual([
      [0, 80_000, true],
      [40_000, 0, false],
    ])
  })

  test.each([2 ** 32, 2 ** 31])(
    'continues in time when milliseconds wrap at %i, with ffmpeg and OBS at 2^31',
    (wrap) => {
      const times = [wrap - 510, wrap - 3, 2, wrap - 1, 30]
      const { frames, leftOut } = taken(aacConfig(), ...times.map((at) => audioFrame(at)))
      expect([frames.map(({ timeUs }) => timeUs / 1000 - wrap), leftOut]).toEqual([[-3, 2, 3, 30], []])
    },
  )

  test('has 4-byte lengths, whatever the publisher writes', () => {
    const config = Buffer.from(AVC_CONFIG)
    config[4] = 0xfd
    const { frames, lists } = taken(
      avcConfig(config),
      message(MESSAGE.video, 0, [0x17, 1, 0, 0, 0, 0, 2, 0x65, 1, 0, 1, 0x41]),
    )
    expect(Buffer.from(frames[0]?.data ?? [])).toEqual(Buffer.from([0, 0, 0, 2, 0x65, 1, 0, 0, 0, 1, 0x41]))
    expect(lists[0]?.[0]?.config[4]).toBe(0xff)
  })

  test('skips command frames, ends of sequences and empty messages', () => {
    const nothing = [[0x57, 0], [0x17, 2, 0, 0, 0], []].map((bytes) => message(MESSAGE.video, 0, bytes))
    expect(taken(...nothing, message(MESSAGE.audio, 0, [])).problems).toEqual([])
  })

  test('may have an empty configuration before the real one, as the FLV muxer of ffmpeg writes it for ADTS', () => {
    const { order, problems } = taken(
      aacConfig(Buffer.alloc(0)),
      avcConfig(Buffer.alloc(0)),
      avcConfig(),
      aacConfig(),
      videoFrame(0),
      audioFrame(5),
    )
    expect([order, problems]).toEqual([['h264+aac', 'video 0', 'audio 5000'], []])
  })

  test('that comes before its configuration is dropped for five seconds, as with a publisher that was already running', () => {
    const early = [audioFrame(0), videoFrame(20), videoFrame(40)]
    const { order, problems } = taken(...early, avcConfig(), aacConfig(), videoFrame(60), audioFrame(65))
    expect([order, problems]).toEqual([['h264+aac', 'video 60000', 'audio 65000'], []])
    expect(taken(videoFrame(0), videoFrame(4999)).leftOut).toEqual([])
  })

  test('may be G.711, which has no configuration', () => {
    const g711 = (first: number, at: number) => message(MESSAGE.audio, at, [first], Buffer.alloc(160, 0xd5))
    const { order, lists } = taken(g711(0x72, 0), g711(0x72, 500), g711(0x83, 520), message(MESSAGE.audio, 540, [0x72]))
    expect(order).toEqual(['pcma', 'audio 500000', 'pcmu', 'audio 520000'])
    expect(lists).toMatchObject([[{ sampleRate: 8000, channels: 1 }], [{ sampleRate: 8000, channels: 2 }]])
  })

  test('may have an explicit sampling rate', () => {
    // AAC LC, index 15, 44100 in 24 bits, two channels.
    const bits = `000101111${(44_100).toString(2).padStart(24, '0')}0010000`
    const config = Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
    expect(taken(aacConfig(config), audioFrame(0), audioFrame(500)).lists[0]).toMatchObject([
      { sampleRate: 44_100, channels: 2 },
    ])
  })
})

describe('the refusal names the unsupported media', () => {
  const VIDEO = 'H.264, HEVC, AV1, VP9 or VP8'
  const fourcc = (first: number, name: string) => [first, ...Buffer.from(name)]
  test.each([
    [MESSAGE.video, fourcc(0x90, 'vvc1'), `Video codec vvc1 is not supported; send ${VIDEO}`],
    [MESSAGE.video, [0x90, 1, 2, 3, 4], `Video codec of enhanced RTMP is not supported; send ${VIDEO}`],
    [
      MESSAGE.video,
      [0x96, 0x30, ...Buffer.from('avc1')],
      'A message with video tracks in form 3 is not supported; send OneTrack',
    ],
    [MESSAGE.video, fourcc(0x95, 'av01'), 'AV1 as in MPEG-TS is not supported; send it as in MP4'],
    [MESSAGE.audio, fourcc(0x90, 'ac-3'), 'Audio codec ac-3 is not supported; send AAC or Opus'],
    [
      MESSAGE.audio,
      [...fourcc(0x90, 'Opus'), ...Buffer.from('OpusHead\x01\x06')],
      'Opus with 6 channels is not supported; send 2',
    ],
    [MESSAGE.video, [0x1c, 0], 'Video codec HEVC without enhanced RTMP is not supported; send H.264'],
    [MESSAGE.video, [0x22, 0], 'Video codec Sorenson H.263 is not supported; send H.264'],
    [MESSAGE.video, [0x1f, 0], 'Video codec 15 is not supported; send H.264'],
    [MESSAGE.audio, [0x2f, 0], 'Audio codec MP3 is not supported; send AAC'],
    [MESSAGE.audio, [0xb2, 0], 'Audio codec Speex is not supported; send AAC'],
    [
      MESSAGE.audio,
      [...fourcc(0x95, ''), 0x01, ...Buffer.from('fLaC'), 0],
      'Audio codec fLaC is not supported; send AAC or Opus',
    ],
  ])('%i %j', (type, bytes, problem) => {
    expect(taken(message(type, 0, bytes)).problems).toEqual([problem])
  })
})

describe('a message that ended a broadcast is left out, and the rest goes on', () => {
  const video = [avcConfig(), videoFrame(0)]
  const bytes = (type: number, ...payload: number[]): Message => message(type, 0, payload)
  test.each([
    ['a short video message', bytes(MESSAGE.video, 0x17, 1, 0), 'A video message is cut short'],
    ['a short audio message', bytes(MESSAGE.audio, 0xaf), 'An audio message is cut short'],
    [
      'a configuration without parameter sets',
      avcConfig(Buffer.from([1, 2, 3])),
      'The H.264 configuration cannot be read',
    ],
    [
      'a configuration of half an H.264 record',
      avcConfig(AVC_CONFIG.subarray(0, 15)),
      'The H.264 configuration cannot be read',
    ],
    ['a short AAC configuration', aacConfig(Buffer.from([0x17])), 'The AAC configuration cannot be read'],
    // 16 MHz, written out: each frame of silence would last 64 microseconds.
    [
      'a sampling rate of no decoder',
      aacConfig(Buffer.from('17fa120010', 'hex')),
      'The AAC configuration cannot be read',
    ],
    [
      'a frame whose lengths do not add up',
      bytes(MESSAGE.video, 0x17, 1, 0, 0, 0, 0, 0, 0, 9, 1),
      'A video frame is malformed: the lengths of its NAL units do not add up',
    ],
    [
      // With 8 million the server stood still for a minute.
      'a frame of thousands of empty NAL units',
      bytes(MESSAGE.video, 0x17, 1, 0, 0, 0, ...Buffer.alloc(4 * 2000)),
      'A video frame is malformed: the lengths of its NAL units do not add up',
    ],
    [
      'a video message of another codec',
      bytes(MESSAGE.video, 0x22, 0),
      'Video codec Sorenson H.263 is not supported; send H.264',
    ],
  ])('%s', (_, bad, why) => {
    const { order, problems, leftOut, counts } = taken(...video, bad, bad, videoFrame(40))
    expect([order, problems, leftOut]).toEqual([['h264', 'video 0', 'video 40000'], [], [why, why]])
    expect(counts).toEqual([true, true, false, false, true])
  })

  test('sound without configuration leaves the picture on the air', () => {
    const packets = [0, 2500, 5000, 5020].map((at) => audioFrame(at))
    const { order, problems, leftOut } = taken(...video, ...packets, videoFrame(5040))
    expect([order, problems]).toEqual([['h264', 'video 0', 'video 5040000'], []])
    expect(leftOut).toEqual(Array(2).fill('Audio came before its configuration'))
  })

  test('a picture without configuration leaves the sound on the air', () => {
    const { order, leftOut } = taken(videoFrame(0), ...alone, videoFrame(5000), audioFrame(5020))
    expect(order).toEqual(['aac', 'audio 500000', 'audio 5020000'])
    expect(leftOut).toEqual(['Video came before its configuration'])
    const wrapped = [videoFrame(2 ** 32 - 1), videoFrame(4998), videoFrame(4999)]
    expect(taken(...wrapped).leftOut).toEqual(['Video came before its configuration'])
  })

  test('further audio tracks of enhanced RTMP leave the first one on the air', () => {
    const { order, problems, leftOut } = taken(
      message(MESSAGE.audio, 0, [0x95, 0], Buffer.from('mp4a'), [1, 0x12, 0x10]),
      aacConfig(),
      ...video,
      audioFrame(5),
      message(MESSAGE.audio, 0, [0x91], Buffer.from('fLaC'), [0x21]),
    )
    expect([order, problems]).toEqual([['h264+aac', 'video 0', 'audio 5000'], []])
    expect(leftOut).toEqual([
      'The publisher sends several audio tracks; only the first one is taken',
      'Audio codec fLaC is not supported; send AAC or Opus',
    ])
  })
})

describe('keyframes', () => {
  const units = (isMarked: boolean, ...nals: number[][]): Message =>
    message(
      MESSAGE.video,
      0,
      [isMarked ? 0x17 : 0x27, 1, 0, 0, 0],
      ...nals.flatMap((nal) => [[0, 0, 0, nal.length], nal]),
    )
  // first_mb_in_slice 0, then slice_type 7 (I) or 5 (P).
  const [intra, predicted] = [
    [0x41, 0b1000_1000],
    [0x41, 0b1001_1000],
  ]
  test.each([
    ['an IDR picture that is not marked', true, units(false, [0x65, 0x88])],
    ['a recovery point that is not marked', true, units(false, [0x06, 1, 1, 9, 6, 1, 0xc4, 0x80], predicted)],
    ['a picture of intra slices that is marked', true, units(true, intra, intra)],
    ['a predicted picture that is marked', false, units(true, intra, predicted)],
    ['a picture of intra slices that is not marked', false, units(false, intra)],
    ['other information for decoders', false, units(false, [0x06, 5, 3, 6, 6, 6, 0x80], predicted)],
  ])('%s: %s', (_, key, frame) => {
    const { frames } = taken(avcConfig(), videoFrame(0), frame)
    expect(frames.map((one) => one.key)).toEqual([true, key])
  })
})

describe('a clock of a publisher', () => {
  /** Sends a picture and a sound packet every 40 ms; `at` says what the publisher writes. Null: it sends nothing. */
  function sent(
    seconds: number,
    at: (kind: 'video' | 'audio', ms: number) => number | null,
    arrival = (ms: number) => ms,
  ) {
    let nowMs = 0
    const seen = new Seen()
    const leftOut = new Set<string>()
    const ingest = new RtmpIngest(seen, { clock: { monotonic: () => nowMs }, leftOut: (what) => leftOut.add(what) })
    for (const one of [avcConfig(), aacConfig()]) ingest.take(one)
    for (let ms = 0; ms < seconds * 1000; ms += 40) {
      nowMs = arrival(ms)
      const [video, audio] = [at('video', ms), at('audio', ms + 10)]
      if (video !== null) ingest.take(videoFrame(video >>> 0))
      if (audio !== null) ingest.take(audioFrame(audio >>> 0))
    }
    const times = (kind: Frame['kind']) =>
      seen.frames.filter((one) => one.kind === kind).map(({ timeUs }) => timeUs / 1000)
    const jumps = seen.frames.filter(({ isJump }) => isJump === true)
    const retimed = seen.frames.filter(({ isRetimed }) => isRetimed === true).length
    return { video: times('video'), audio: times('audio'), jumps, retimed, leftOut: [...leftOut] }
  }
  const steps = (times: number[]): number[] => [...new Set(times.slice(1).map((ms, index) => ms - (times[index] ?? 0)))]

  test.each([
    ['that is set back', (ms: number) => (ms < 8000 ? ms : ms - 8000)],
    ['that is set forward by an hour', (ms: number) => (ms < 8000 ? ms : ms + 3_600_000)],
    ['that begins again twice', (ms: number) => ms % 6000],
  ])('%s loses no time, and none between picture and sound', (_, clockOf) => {
    const { video, audio, jumps } = sent(20, (_kind, ms) => clockOf(ms))
    expect([steps(video), Math.abs((video.at(-1) ?? 0) - 19_960) <= 80]).toEqual([expect.any(Array), true])
    expect(Math.max(...steps(video), ...steps(audio))).toBeLessThanOrEqual(80)
    expect(Math.min(...steps(video), ...steps(audio))).toBeGreaterThanOrEqual(0)
    expect(audio.at(-1)).toBe((video.at(-1) ?? 0) + 10)
    expect(jumps.length % 2).toBe(0)
    expect(jumps.length).toBeGreaterThan(0)
  })

  const RETIMED = ['Timestamps of the publisher stand still or go back; its times go on without them']

  test.each([
    ['is always 0', () => 0, 16_900],
    ['stops', (_: string, ms: number) => Math.min(ms, 4000), 16_900],
    ['counts frames', (_: string, ms: number) => Math.floor(ms / 40), 16_900],
    ['counts seconds', (_: string, ms: number) => Math.floor(ms / 1000), 16_900],
    ['is 0 for the picture alone', (kind: string, ms: number) => (kind === 'video' ? 0 : ms), 19_900],
  ])('that %s gives way to the arrival, of picture and sound alike', (_, clockOf, endMs) => {
    const { video, audio, jumps, leftOut, retimed } = sent(20, clockOf)
    expect(Math.min(...steps(video), ...steps(audio))).toBeGreaterThanOrEqual(0)
    for (const times of [video, audio]) expect(times.at(-1)).toBeGreaterThan(endMs)
    expect(Math.abs((audio.at(-1) ?? 0) - (video.at(-1) ?? 0))).toBeLessThan(80)
    expect([jumps, leftOut, retimed > 400]).toEqual([[], RETIMED, true])
  })

  test('that goes back a little keeps decode times in order, and loses what it went back', () => {
    const { video, audio, jumps, leftOut } = sent(20, (_, ms) => (ms < 8000 ? ms : ms - 300))
    expect(Math.min(...steps(video), ...steps(audio))).toBeGreaterThan(0)
    expect([video.at(-1), audio.at(-1), jumps, leftOut]).toEqual([19_660, 19_670, [], RETIMED])
  })

  test('of the picture alone that begins again after a pause leaves it beside the sound', () => {
    const { video, audio, jumps } = sent(30, (kind, ms) => {
      if (kind === 'audio') return ms
      return ms < 8000 ? ms : ms < 11_000 ? null : ms - 11_000
    })
    expect(steps(audio)).toEqual([40])
    expect(video.at(-1)).toBe(29_970)
    expect(jumps.map(({ kind, timeUs }) => [kind, timeUs])).toEqual([['video', 11_010_000]])
  })

  test('that differs between picture and sound from the beginning counts for one of them', () => {
    for (const apartMs of [1_000_000, -1_000_000, 2 ** 30]) {
      const { video, audio, jumps } = sent(4, (kind, ms) => (kind === 'audio' ? ms + apartMs : ms))
      expect([video.at(-1), audio.at(-1), jumps]).toEqual([3960, 3960, []])
    }
  })

  test('is believed after a stall, over a pause of the publisher, and from a file that comes at once', () => {
    const as = (_: string, ms: number): number => ms
    const stalled = sent(20, as, (ms) => (ms > 5000 && ms < 15_000 ? 15_000 : ms))
    const dropped = sent(
      20,
      (_, ms) => (ms > 6000 && ms < 15_000 ? null : ms),
      (ms) => (ms > 5000 && ms < 15_000 ? 15_000 : ms),
    )
    const atOnce = sent(60, as, () => 0)
    const paused = sent(30, (_, ms) => (ms > 5000 && ms < 25_000 ? null : ms))
    for (const { jumps, video } of [stalled, dropped, atOnce, paused]) {
      expect([jumps, (video.at(-1) ?? 0) % 1000]).toEqual([[], 960])
    }
  })
})

describe('the size of a frame', () => {
  test.each([
    ['6764001facd9405005bb011000000300100000030320f1831960', 1280, 720],
    ['674d4028eca03c0113f2e022000003000200000300641e30632c', 1920, 1080],
    ['6742c00dd90141fb011000000300100000030320f142a480', 320, 240],
    ['6764001eacd940d83de6f011000003000100000300320f162d96', 854, 480],
    ['67f4001e919b281405ff3e0220000003002000000641e2c5b2c0', 640, 362],
    ['6764001eacd940b424d8088000000300800000190f8a14cb', 720, 576],
  ])('%s', (hex, width, height) => {
    const config = avcConfig(recordOf(Buffer.from(hex, 'hex')))
    expect(taken(config, videoFrame(0)).lists[0]).toMatchObject([{ width, height }])
  })
})
