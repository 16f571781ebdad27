import { describe, expect, test } from 'vitest'
import { HEVC_CONFIG } from '../rtmp/media.ts'
import {
  annexB,
  AUDIO_PID,
  BOTH,
  deltaFrame,
  HEVC,
  HEVC_IDR,
  HEVC_SETS,
  HEVC_TRAILING,
  keyframe,
  opusDescriptors,
  opusPacket,
  opusUnit,
  TsMuxer,
  VIDEO_PID,
} from './muxer.ts'
import { DAMAGED, Seen, ticks } from './seen.ts'

describe('HEVC', () => {
  const delimiter = Buffer.from([0x46, 1, 0x50])
  const stream = [{ type: HEVC, pid: VIDEO_PID }]

  test('has its parameter sets in the configuration of the track alone, complete as MP4 wants them', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(stream), ts.video(annexB(delimiter, ...HEVC_SETS, HEVC_IDR), ticks(80), 0))
    seen.take(
      ts.video(annexB(delimiter, HEVC_TRAILING), ticks(40)),
      ts.video(annexB(delimiter, HEVC_TRAILING), ticks(120)),
    )
    const config = Buffer.from(HEVC_CONFIG)
    for (const type of [32, 33, 34]) {
      const at = config.indexOf(Buffer.from([type, 0, 1]), 23)
      config[at] = 0x80 | type
    }
    expect(seen.lists).toMatchObject([[{ codec: 'hevc', config }]])
    expect(seen.order).toEqual(['hevc', 'video 80', 'video 40'])
    expect(seen.frames.map(({ key, data }) => [key, data])).toEqual([
      [true, Buffer.concat([Buffer.from([0, 0, 0, HEVC_IDR.length]), HEVC_IDR])],
      [false, Buffer.concat([Buffer.from([0, 0, 0, HEVC_TRAILING.length]), HEVC_TRAILING])],
    ])
  })

  test('may take the place of H.264 in a program, with its first keyframe', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0), ts.video(deltaFrame(), ticks(40)))
    seen.take(ts.tables(stream, 1), ts.video(annexB(HEVC_TRAILING), ticks(80)))
    seen.take(ts.video(annexB(...HEVC_SETS, HEVC_IDR), ticks(120)), ts.video(annexB(HEVC_TRAILING), ticks(160)))
    expect(seen.order).toEqual(['h264', 'video 0', 'hevc', 'video 120'])
  })
})

describe('Opus', () => {
  const stream = [{ type: 6, pid: AUDIO_PID, descriptors: opusDescriptors(2) }]

  test('comes in packets with a head each, several in a PES packet', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const [short, long, trimmed] = [opusPacket(40), opusPacket(300), opusPacket(60)]
    const units = Buffer.concat([
      opusUnit(short),
      Buffer.from([0x7f, 0xe0, 255, 45]),
      long,
      // With samples to leave out at both ends, and an extension of two bytes.
      Buffer.from([0x7f, 0xfc, 60, 1, 2, 3, 4, 2, 9, 9]),
      trimmed,
    ])
    seen.take(ts.tables(stream), ts.audio(units, ticks(100)))
    expect(seen.lists).toMatchObject([[{ codec: 'opus', sampleRate: 48_000, channels: 2 }]])
    expect(seen.order).toEqual(['opus', 'audio 100', 'audio 120', 'audio 140'])
    expect(seen.frames.map(({ data }) => data)).toEqual([short, long, trimmed])
  })

  test.each([
    ['another head', Buffer.from([0x7e, 0xe0, 2, 0xfc, 0])],
    ['more bytes than there are', Buffer.from([0x7f, 0xe0, 200, 0xfc, 0])],
    ['no bytes', Buffer.from([0x7f, 0xe0, 0])],
    ['a size without an end', Buffer.from([0x7f, 0xe0, 255, 255])],
  ])('with %s is left out, and the rest goes on', (_, bytes) => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(stream), ts.audio(bytes, ticks(0)), ts.audio(opusUnit(opusPacket(40)), ticks(20)))
    expect([seen.order, seen.leftOut]).toEqual([['opus', 'audio 20'], [DAMAGED]])
  })
})
