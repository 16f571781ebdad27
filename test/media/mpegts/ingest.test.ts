import { describe, expect, test } from 'vitest'
import { PACKET_BYTES } from '../../../src/media/mpegts/packets.ts'
import {
  AAC,
  adts,
  annexB,
  AUDIO_PID,
  BOTH,
  H264,
  keyframe,
  opusDescriptors,
  pat,
  pes,
  deltaFrame,
  PMT_PID,
  pmt,
  PPS,
  SPS,
  TsMuxer,
  VIDEO_PID,
} from './muxer.ts'
import { DAMAGED, Seen, ticks } from './seen.ts'

describe('an MPEG transport stream', () => {
  test('gives both tracks once, then frames as soon as they are complete', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const problem = seen.take(
      ts.tables(BOTH),
      ts.video(keyframe(), ticks(1000)),
      ts.audio(adts(), ticks(1010)),
      ts.video(deltaFrame(), ticks(1040)),
      ts.audio(adts(), ticks(1031)),
      ts.video(deltaFrame(), ticks(1080)),
    )
    // Audio waits for the keyframe, which ends where the next picture begins.
    expect([seen.order, problem, seen.leftOut]).toEqual([
      ['h264+aac', 'video 1000', 'audio 1031', 'video 1040'],
      null,
      [],
    ])
    expect(seen.lists[0]).toMatchObject([
      { codec: 'h264', width: 320, height: 240 },
      { codec: 'aac', sampleRate: 48_000, channels: 2, config: Buffer.from([0x11, 0x90]) },
    ])
    expect(seen.frames.map(({ key }) => key)).toEqual([true, true, false])
    const [first] = seen.frames
    expect(first?.data.subarray(0, 4 + SPS.length)).toEqual(Buffer.concat([Buffer.from([0, 0, 0, SPS.length]), SPS]))
  })

  test('is read the same in pieces of any size', () => {
    const ts = new TsMuxer()
    const bytes = Buffer.concat([
      ts.tables(BOTH),
      ts.video(keyframe(), ticks(0)),
      ts.video(deltaFrame(), ticks(40)),
      ts.audio(adts(), ticks(30)),
      ts.video(deltaFrame(), ticks(80)),
    ])
    const whole = new Seen()
    whole.take(bytes)
    for (const size of [1, 7, 187, 189, 1316]) {
      const seen = new Seen()
      for (let at = 0; at < bytes.length; at += size) seen.take(bytes.subarray(at, at + size))
      expect([seen.order, seen.frames]).toEqual([whole.order, whole.frames])
    }
  })

  test('has pictures with B-frames shown later than decoded', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(
      ts.tables(BOTH.slice(0, 1)),
      ts.video(keyframe(), ticks(80), ticks(0)),
      ts.video(deltaFrame(), ticks(200), ticks(40)),
      ts.video(deltaFrame(), ticks(120), ticks(80)),
      ts.video(deltaFrame(), ticks(160), ticks(120)),
    )
    expect(seen.frames.map(({ timeUs, decodeTimeUs }) => [timeUs, decodeTimeUs])).toEqual([
      [80_000, 0],
      [200_000, 40_000],
      [120_000, 80_000],
    ])
  })

  test('goes on over the wrap of its 33 bits after 26 hours', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const startMs = (2 ** 33 - ticks(60)) / 90
    seen.take(ts.tables(BOTH))
    for (let at = 0; at < 5; at++) {
      seen.take(ts.video(at === 0 ? keyframe() : deltaFrame(), ticks(startMs + at * 40)))
      seen.take(ts.audio(adts(), ticks(startMs + at * 40 + 5)))
    }
    const times = seen.frames.filter(({ kind }) => kind === 'video').map(({ timeUs }) => timeUs)
    const audio = seen.frames.filter(({ kind }) => kind === 'audio').map(({ timeUs }) => timeUs)
    const firstUs = times[0] ?? 0
    expect(times.map((timeUs) => timeUs - firstUs)).toEqual([0, 40_000, 80_000, 120_000])
    expect(audio.map((timeUs) => timeUs - firstUs)).toEqual([45_000, 85_000, 125_000, 165_000])
    expect(seen.leftOut).toEqual([])
  })

  test('goes on with the arrival where the clock of the publisher jumps, both tracks alike', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH))
    const send = (nowMs: number, atMs: number, key: boolean) => {
      seen.nowMs = nowMs
      seen.take(ts.video(key ? keyframe() : deltaFrame(), ticks(atMs)), ts.audio(adts(), ticks(atMs)))
    }
    send(0, 50_000, true)
    send(40, 50_040, false)
    send(80, 0, true)
    send(120, 40, false)
    send(160, 80, false)
    const videoUs = seen.frames.filter(({ kind }) => kind === 'video').map(({ timeUs }) => timeUs / 1000)
    expect(videoUs.every((timeMs, at) => timeMs >= (videoUs[at - 1] ?? 0))).toBe(true)
    expect(videoUs.at(-1)).toBeLessThan(50_300)
    expect(seen.leftOut).toContain('The clock of the publisher jumps; its times go on as its media arrives')
  })

  test('goes on with the arrival where the clock of the publisher stands still', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH))
    for (let ms = 0; ms < 6000; ms += 40) {
      seen.nowMs = ms
      seen.take(ts.video(ms % 1000 === 0 ? keyframe() : deltaFrame(), ticks(0)), ts.audio(adts(), ticks(0)))
    }
    const lastUs = (kind: string) => seen.frames.findLast((frame) => frame.kind === kind)?.decodeTimeUs ?? 0
    expect(lastUs('video')).toBeGreaterThan(2_800_000)
    expect(Math.abs(lastUs('audio') - lastUs('video'))).toBeLessThan(80_000)
    expect([...new Set(seen.leftOut)]).toEqual([
      'Timestamps of the publisher stand still or go back; its times go on without them',
    ])
  })

  test('has audio that begins in one PES packet and ends in the next, timed by its beginning', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const [a, b, c] = [adts(40, 1), adts(40, 2), adts(40, 3)]
    const bytes = Buffer.concat([a, b, c])
    seen.take(
      ts.tables(BOTH.slice(1)),
      ts.audio(bytes.subarray(0, 60), ticks(1000)),
      ts.audio(bytes.subarray(60), ticks(1042)),
    )
    expect(seen.frames.map(({ timeUs, data }) => [timeUs, data[0], data.length])).toEqual([
      [1_000_000, 1, 40],
      [1_021_333, 2, 40],
      [1_042_000, 3, 40],
    ])
  })

  test('begins with both tracks where the first audio comes late, because viewers choose by the tracks that there are', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH))
    const video = (fromMs: number, toMs: number) => {
      for (let ms = fromMs; ms < toMs; ms += 40) seen.take(ts.video(ms === 0 ? keyframe() : deltaFrame(), ticks(ms)))
    }
    video(0, 400)
    expect(seen.order).toEqual([])
    seen.take(ts.audio(adts(), ticks(10)), ts.audio(adts(), ticks(31)))
    expect(seen.order.slice(0, 3)).toEqual(['h264+aac', 'video 0', 'video 40'])
    expect(seen.order.slice(-3)).toEqual(['video 320', 'audio 10', 'audio 31'])
    expect(seen.lists).toHaveLength(1)
  })

  test('has video alone where no audio comes within a second, or where more waits than one frame may have', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH))
    for (let ms = 0; ms <= 1040; ms += 40) seen.take(ts.video(ms === 0 ? keyframe() : deltaFrame(), ticks(ms)))
    expect([seen.order[0], seen.order.at(-1)]).toEqual(['h264', 'video 1000'])
    const [large, muxer] = [new Seen(), new TsMuxer()]
    const slice = annexB(Buffer.concat([Buffer.from([0x41]), Buffer.alloc(60_000, 0x9a)]))
    large.take(muxer.tables(BOTH), muxer.video(keyframe(), 0))
    for (const ms of [40, 80, 120]) large.take(muxer.video(slice, ticks(ms)))
    expect(large.order).toEqual(['h264', 'video 0', 'video 40', 'video 80'])
  })

  test('has audio alone where no video ever begins', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH), ts.audio(adts(), ticks(0)))
    seen.nowMs = 5000
    seen.take(ts.audio(adts(), ticks(4999)))
    expect(seen.order).toEqual([])
    seen.take(ts.audio(adts(), ticks(5000)))
    expect([seen.order, seen.leftOut]).toEqual([['aac', 'audio 5000'], []])
  })

  test('reports tracks again when the parameter sets change, not when they are repeated', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const otherPps = Buffer.from([...PPS.subarray(0, 3), 0xc9])
    const changed = annexB(SPS, otherPps, Buffer.from([0x65, 0x88, 1]))
    seen.take(ts.tables(BOTH.slice(0, 1)))
    for (const [at, data] of [keyframe(), keyframe(), changed, deltaFrame()].entries())
      seen.take(ts.video(data, ticks(at * 40)))
    expect(seen.order).toEqual(['h264', 'video 0', 'video 40', 'h264', 'video 80'])
  })

  test('follows a change of its program map to other PIDs', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const moved = (data: Buffer, ms: number) =>
      ts.packets(0x200, pes(data, { id: 0xe0, presentation: ticks(ms), decode: ticks(ms) }))
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0), ts.video(deltaFrame(), ticks(40)))
    seen.take(ts.tables([{ type: H264, pid: 0x200 }], 1))
    seen.take(ts.video(deltaFrame(), ticks(80)), ts.video(deltaFrame(), ticks(120)))
    seen.take(moved(keyframe(), 160), moved(deltaFrame(), 200), moved(deltaFrame(), 240))
    expect(seen.order).toEqual(['h264', 'video 0', 'video 160', 'video 200'])
    expect(seen.leftOut).toEqual([])
  })
})

describe('a damaged stream', () => {
  test('is found again after bytes that are no packets, and loses no frame of the others', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0))
    seen.take(Buffer.from([1, 2, 3, 4]), ts.video(deltaFrame(), ticks(40)), ts.video(deltaFrame(), ticks(80)))
    seen.take(Buffer.alloc(500, 0x47), ts.video(deltaFrame(), ticks(120)), ts.video(deltaFrame(), ticks(160)))
    seen.take(ts.video(deltaFrame(), ticks(200)))
    expect(seen.order.slice(0, 3)).toEqual(['h264', 'video 0', 'video 40'])
    expect(seen.order).toContain('video 160')
  })

  test('leaves out a frame whose packets are missing, says so and goes on', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0))
    const broken = ts.video(deltaFrame(800), ticks(40))
    seen.take(broken.subarray(0, PACKET_BYTES), broken.subarray(2 * PACKET_BYTES))
    seen.take(ts.video(deltaFrame(), ticks(80)), ts.video(deltaFrame(), ticks(120)))
    expect([seen.order, seen.leftOut]).toEqual([['h264', 'video 0', 'video 80'], [DAMAGED]])
  })

  test('takes a packet that is sent twice once', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const audio = ts.audio(adts(), ticks(20))
    seen.take(ts.tables(BOTH.slice(1)), audio, audio, ts.audio(adts(), ticks(41)))
    expect([seen.order, seen.leftOut]).toEqual([['aac', 'audio 20', 'audio 41'], []])
  })

  test('loses what had begun when its carrier says that data is missing, without counting it again', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0), ts.video(deltaFrame(), ticks(40)))
    const broken = ts.video(deltaFrame(800), ticks(80))
    seen.take(broken.subarray(0, PACKET_BYTES))
    seen.ingest.gap()
    seen.take(broken.subarray(3 * PACKET_BYTES), ts.video(deltaFrame(), ticks(120)), ts.video(deltaFrame(), ticks(160)))
    expect([seen.order, seen.leftOut]).toEqual([['h264', 'video 0', 'video 40', 'video 120'], []])
  })

  test('with a wrong CRC in its program map waits for the next one', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const wrong = Buffer.from(pmt(BOTH.slice(1)))
    wrong[10] = 0x55
    seen.take(ts.section(0, pat(PMT_PID)), ts.section(PMT_PID, wrong), ts.audio(adts(), 0))
    expect(seen.order).toEqual([])
    seen.take(ts.section(PMT_PID, pmt(BOTH.slice(1))), ts.audio(adts(), ticks(21)))
    expect(seen.order).toEqual(['aac', 'audio 21'])
  })

  test('leaves out a frame that is larger than allowed', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0), ts.video(deltaFrame(120_000), ticks(40)))
    seen.take(ts.video(deltaFrame(), ticks(80)), ts.video(deltaFrame(), ticks(120)))
    expect([seen.order, seen.leftOut]).toEqual([['h264', 'video 0', 'video 80'], [DAMAGED]])
  })

  test('keeps nothing of the memory in which its packets come, of which a payload of a byte is a small part', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), 0))
    const bytes = ts.packets(VIDEO_PID, pes(deltaFrame(600), { id: 0xe0, presentation: ticks(40) }), 1)
    for (let at = 0; at < bytes.length; at += PACKET_BYTES) {
      const packet = Buffer.from(bytes.subarray(at, at + PACKET_BYTES))
      seen.take(packet)
      packet.fill(0)
    }
    seen.take(ts.video(deltaFrame(), ticks(80)))
    expect([seen.order, seen.leftOut]).toEqual([['h264', 'video 0', 'video 40'], []])
    expect(Buffer.from(seen.frames.at(-1)?.data ?? '').includes(Buffer.alloc(600, 0x55))).toBe(true)
  })
})

describe('a publisher is refused, by name', () => {
  test.each([
    ['MPEG-2', [{ type: 2, pid: VIDEO_PID }], 'Video codec MPEG-2 is not supported; send H.264 or HEVC'],
    ['AC-3 of ATSC', [{ type: 0x81, pid: AUDIO_PID }], 'Audio codec AC-3 is not supported; send AAC or Opus'],
    ['MP2', [{ type: 3, pid: AUDIO_PID }], 'Audio codec MPEG audio (MP2, MP3) is not supported; send AAC or Opus'],
    ['LATM', [{ type: 0x11, pid: AUDIO_PID }], 'Audio codec AAC in LATM is not supported; send AAC or Opus'],
    [
      'Opus with six channels',
      [{ type: 6, pid: AUDIO_PID, descriptors: opusDescriptors(6) }],
      'Audio codec Opus with more than two channels is not supported; send AAC or Opus',
    ],
    [
      'AC-3 of DVB',
      [{ type: 6, pid: AUDIO_PID, descriptors: Buffer.from([0x6a, 1, 0]) }],
      'Audio codec AC-3 is not supported; send AAC or Opus',
    ],
    [
      'VVC beside AAC',
      [{ type: 0x33, pid: VIDEO_PID }, BOTH[1]],
      'Video codec VVC is not supported; send H.264 or HEVC',
    ],
  ] as const)('%s', (_, streams, refusal) => {
    expect(new Seen().take(new TsMuxer().tables(streams.filter((stream) => stream !== undefined)))).toBe(refusal)
  })

  test('subtitles and other data beside the media are no reason', () => {
    const streams = [...BOTH, { type: 6, pid: 0x102, descriptors: Buffer.from([0x59, 0]) }, { type: 0x86, pid: 0x103 }]
    expect(new Seen().take(new TsMuxer().tables(streams))).toBeNull()
  })

  test('several programs, and a scrambled one', () => {
    const ts = new TsMuxer()
    const several = new Seen().take(ts.section(0, pat(PMT_PID, PMT_PID + 1)))
    expect(several).toBe('The transport stream has several programs; send one')
    const scrambled = ts.audio(adts(), 0)
    scrambled[3] = (scrambled[3] ?? 0) | 0x80
    const seen = new Seen()
    expect(seen.take(ts.tables(BOTH.slice(1)), scrambled)).toBe('The transport stream is scrambled; send it without')
  })

  test('bytes without a program, and a program without media, after two seconds', () => {
    for (const [bytes, refusal] of [
      [Buffer.alloc(1316, 7), 'No MPEG transport stream with a program came'],
      [new TsMuxer().tables([]), 'The program of the transport stream has no video or audio'],
    ] as const) {
      const seen = new Seen()
      expect(seen.take(bytes)).toBeNull()
      seen.nowMs = 2001
      expect(seen.take(bytes)).toBe(refusal)
    }
  })

  test('but a broadcast that has begun goes on, and the log tells what is left out', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH), ts.video(keyframe(), 0), ts.audio(adts(), 0), ts.video(deltaFrame(), ticks(40)))
    expect(
      seen.take(
        ts.tables(
          [
            { type: 0x33, pid: VIDEO_PID },
            { type: AAC, pid: AUDIO_PID },
          ],
          1,
        ),
      ),
    ).toBeNull()
    seen.take(ts.audio(adts(), ticks(60)))
    expect(seen.order.at(-1)).toBe('audio 60')
    expect(seen.leftOut).toEqual(['Video codec VVC is not supported; send H.264 or HEVC'])
  })

  test('but AAC whose layout of channels never comes is left out, and the picture goes on', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    const unknown = adts()
    unknown.writeUInt8(unknown.readUInt8(3) & 0x3f, 3)
    seen.take(ts.tables(BOTH), ts.video(keyframe(), 0))
    for (let at = 0; at < 1200; at += 40)
      seen.take(ts.audio(unknown, ticks(at)), ts.video(deltaFrame(), ticks(at + 40)))
    expect([seen.order[0], new Set(seen.order.slice(1).map((one) => one.split(' ')[0]))]).toEqual([
      'h264',
      new Set(['video']),
    ])
    expect(new Set(seen.leftOut)).toEqual(
      new Set(['The AAC has a layout of channels that was not sent; send mono, stereo, 5.1 or 7.1']),
    )
  })

  test('but not one that has begun, when its program map is empty for a while', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(1)), ts.audio(adts(), 0))
    seen.nowMs = 3000
    expect(seen.take(ts.tables([], 1))).toBeNull()
    seen.take(ts.tables(BOTH.slice(1), 2), ts.audio(adts(), ticks(3000)))
    expect([seen.order, seen.leftOut]).toEqual([['aac', 'audio 0', 'audio 3000'], []])
  })

  test('of several tracks the first one is taken', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables([...BOTH.slice(1), { type: AAC, pid: 0x105 }]), ts.audio(adts(), 0))
    expect([seen.order, seen.leftOut]).toEqual([
      ['aac', 'audio 0'],
      ['The publisher sends several audio tracks; only the first one is taken'],
    ])
  })
})
