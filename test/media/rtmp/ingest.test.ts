import { describe, expect, test } from 'vitest'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import { type Message, MESSAGE } from '../../../src/media/rtmp/messages.ts'
import { AAC_CONFIG, aacConfig, audioFrame, AVC_CONFIG, avcConfig, message, recordOf, videoFrame } from './media.ts'

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
  const ingest = new RtmpIngest(seen)
  const problems = messages.map((one) => ingest.take(one)).flatMap((result) => (result.ok ? [] : [result.error]))
  return { order: seen.order, lists: seen.lists, frames: seen.frames, problems }
}

/** Audio for long enough to count as audio only. */
const alone = [aacConfig(), audioFrame(0), audioFrame(500)]

describe('media', () => {
  test('that begins with audio waits half a second for video, so that subscribers begin once', () => {
    expect(
      taken(aacConfig(), audioFrame(0), audioFrame(400), avcConfig(), audioFrame(420), videoFrame(430)).order,
    ).toEqual(['h264+aac', 'audio 420000', 'video 430000'])
    expect(taken(...alone, audioFrame(20)).order).toEqual(['aac', 'audio 500000', 'audio 20000'])
  })

  test('reports both tracks once, before the first frame', () => {
    const { order, lists, problems } = taken(aacConfig(), avcConfig(), videoFrame(0), audioFrame(5), avcConfig())
    expect([order, problems]).toEqual([['h264+aac', 'video 0', 'audio 5000'], []])
    expect(lists[0]).toMatchObject([
      { width: 320, height: 240, config: AVC_CONFIG },
      { sampleRate: 44_100, channels: 2, config: Uint8Array.from(AAC_CONFIG) },
    ])
  })

  test('names the bitrates that the encoder declared before', () => {
    const seen = new Seen()
    const ingest = new RtmpIngest(seen)
    ingest.declare({ video: 2_500_000 })
    for (const one of [aacConfig(), avcConfig(), videoFrame(0)]) ingest.take(one)
    ingest.declare({ video: 1, audio: 1 })
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

  test('continues in time when 32 bits of milliseconds wrap', () => {
    const { frames } = taken(aacConfig(), avcConfig(), ...[2 ** 32 - 10, 11, 2 ** 32 - 5].map((at) => audioFrame(at)))
    expect(frames.map(({ timeUs }) => timeUs / 1000 - 2 ** 32)).toEqual([-10, 11, -5])
  })

  test('has 4-byte lengths, whatever the encoder writes', () => {
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

  test('that comes before its configuration is dropped for five seconds, as with an encoder that was already running', () => {
    const early = [audioFrame(0), videoFrame(20), videoFrame(40)]
    const { order, problems } = taken(...early, avcConfig(), aacConfig(), videoFrame(60), audioFrame(65))
    expect([order, problems]).toEqual([['h264+aac', 'video 60000', 'audio 65000'], []])
    expect(taken(videoFrame(0), videoFrame(4999)).problems).toEqual([])
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
  const fourcc = (first: number, name: string) => [first, ...Buffer.from(name)]
  test.each([
    [MESSAGE.video, fourcc(0x90, 'hvc1'), 'Enhanced RTMP (hvc1) is not supported; send H.264 without enhanced RTMP'],
    [MESSAGE.video, fourcc(0x90, 'av01'), 'Enhanced RTMP (av01) is not supported; send H.264 without enhanced RTMP'],
    [MESSAGE.video, [0x90, 1, 2, 3, 4], 'Enhanced RTMP is not supported; send H.264 without enhanced RTMP'],
    [MESSAGE.audio, fourcc(0x90, 'Opus'), 'Enhanced RTMP (Opus) is not supported; send AAC without enhanced RTMP'],
    [MESSAGE.video, [0x1c, 0], 'Video codec HEVC is not supported; send H.264'],
    [MESSAGE.video, [0x22, 0], 'Video codec Sorenson H.263 is not supported; send H.264'],
    [MESSAGE.video, [0x1f, 0], 'Video codec 15 is not supported; send H.264'],
    [MESSAGE.audio, [0x2f, 0], 'Audio codec MP3 is not supported; send AAC'],
    [MESSAGE.audio, [0xb2, 0], 'Audio codec Speex is not supported; send AAC'],
    [MESSAGE.video, [0x17, 1, 0], 'A video message is cut short'],
    [MESSAGE.audio, [0xaf], 'An audio message is cut short'],
    [MESSAGE.video, [0x17, 0, 0, 0, 0, 1, 2, 3], 'The H.264 configuration cannot be read'],
    [MESSAGE.audio, [0xaf, 0, 0x17], 'The AAC configuration cannot be read'],
  ])('%i %j', (type, bytes, problem) => {
    expect(taken(message(type, 0, bytes)).problems).toEqual([problem])
  })

  test('media without a configuration for five seconds', () => {
    expect(taken(videoFrame(0), videoFrame(5000)).problems).toEqual(['Video came before its configuration'])
    expect(taken(audioFrame(0), audioFrame(5000)).problems).toEqual(['Audio came before its configuration'])
    const wrapped = [videoFrame(2 ** 32 - 1), videoFrame(4998), videoFrame(4999)]
    expect(taken(...wrapped).problems).toEqual(['Video came before its configuration'])
  })

  test('frames whose lengths do not add up', () => {
    const frame = message(MESSAGE.video, 0, [0x17, 1, 0, 0, 0, 0, 0, 0, 9, 1])
    expect(taken(avcConfig(), frame).problems).toEqual([
      'A video frame is malformed: the lengths of its NAL units do not add up',
    ])
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
