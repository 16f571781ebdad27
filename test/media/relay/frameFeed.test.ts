import { describe, expect, it } from 'vitest'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import { FrameFeed } from '../../../src/media/relay/forward/frameFeed.ts'
import type { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import type { Source } from '../../../src/media/relay/forward/source.ts'

describe('frames of another protocol', () => {
  const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array() }
  const OPUS: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array() }
  const nal = (type: number, bytes: number): Buffer =>
    Buffer.concat([Buffer.from([0, 0, bytes >> 8, bytes & 255, type]), Buffer.alloc(bytes - 1, 9)])
  const frame = (kind: Frame['kind'], timeMs: number, data: Buffer, key = false): Frame => ({
    kind,
    key,
    data,
    timeUs: timeMs * 1000,
    decodeTimeUs: timeMs * 1000,
  })

  /** To the millisecond: the offset of the clocks rises by less. */
  const wallMs = (track: RtpTrack | null | undefined, timestamp: number): number =>
    Math.round(track?.timeline.wallAt(timestamp) ?? 0)

  function feedAt(tracks: readonly TrackInfo[]) {
    const clock = { nowMs: 5000 }
    const ready: { source: Source; tracks: readonly TrackInfo[] }[] = []
    let ends = 0
    const feed = new FrameFeed({
      sessionId: 'f',
      sourceId: 'left',
      createFanout: createJsFanout,
      ready: (source, all) => void ready.push({ source, tracks: all }),
      ended: () => void (ends += 1),
      now: () => clock.nowMs,
    })
    feed.tracks(tracks)
    const packetsOf = (kind: 'video' | 'audio') => {
      const source = ready.at(-1)?.source
      const track = kind === 'audio' ? source?.audio : source?.layers[0]?.track
      const seen: { timestamp: number; marker: boolean; isKeyStart: boolean; bytes: number; first: number }[] = []
      track?.listen(({ timestamp, marker, isKeyStart, payload }) =>
        seen.push({ timestamp, marker, isKeyStart, bytes: payload.length, first: payload[0] ?? 0 }),
      )
      return { seen, track }
    }
    return { clock, feed, ready, packetsOf, ends: () => ends }
  }

  it('are a source of the tracks that viewers can have', () => {
    const aac: TrackInfo = { ...OPUS, codec: 'aac' }
    for (const [tracks, known] of [
      [
        [VIDEO, OPUS],
        [VIDEO, OPUS],
      ],
      [[aac, VIDEO], [VIDEO]],
      [[OPUS], [OPUS]],
      [[aac], []],
    ] as const) {
      const { ready } = feedAt(tracks)
      expect(ready.map((one) => one.tracks)).toEqual([known])
      const source = ready[0]?.source
      expect([
        source?.sessionId,
        source?.sourceId,
        source?.layers.length,
        source?.audio !== null,
        source?.profile,
      ]).toEqual([
        'f',
        'left',
        known.some(({ kind }) => kind === 'video') ? 1 : 0,
        known.some(({ kind }) => kind === 'audio'),
        null,
      ])
    }
  })

  it('are cut into packets whose times are those of the frames, on one clock', () => {
    const { clock, feed, packetsOf } = feedAt([VIDEO, OPUS])
    const [video, audio] = [packetsOf('video'), packetsOf('audio')]
    feed.frame(frame('video', 1000, nal(0x65, 3000), true))
    expect(
      video.seen.map(({ timestamp, marker, isKeyStart, bytes }) => [timestamp, marker, isKeyStart, bytes <= 1180]),
    ).toEqual([
      [90_000, false, true, true],
      [90_000, false, false, true],
      [90_000, true, false, true],
    ])
    clock.nowMs = 5060
    feed.frame(frame('audio', 1040, Buffer.alloc(50)))
    expect(audio.seen).toMatchObject([{ timestamp: 49_920, marker: false, isKeyStart: true, bytes: 50 }])
    feed.frame(frame('audio', 1060, Buffer.alloc(50)))
    expect(audio.track?.last?.index).toBe(1)
    feed.frame(frame('video', 1040, nal(0x41, 30)))
    expect(video.seen.at(-1)).toMatchObject({ timestamp: 93_600, marker: true, isKeyStart: false })
    expect([wallMs(video.track, 90_000), wallMs(audio.track, 49_920)]).toEqual([5000, 5040])
    expect(video.track?.isAskable).toBe(false)
  })

  it('have the clock of the frame that came soonest after its time: the first ones waited', () => {
    const { clock, feed, packetsOf } = feedAt([VIDEO, OPUS])
    const [{ track: video }, { track: audio }] = [packetsOf('video'), packetsOf('audio')]
    for (const timeMs of [1000, 1040, 1080]) feed.frame(frame('video', timeMs, nal(0x41, 30), timeMs === 1000))
    clock.nowMs = 5040
    feed.frame(frame('video', 1400, nal(0x41, 30)))
    clock.nowMs = 5100
    feed.frame(frame('audio', 1430, Buffer.alloc(50)))
    expect([wallMs(video, 90 * 1400), wallMs(audio, 48 * 1400)]).toEqual([5040, 5040])
  })

  it('follow a publisher whose clock is slow, and a delay of a minute moves neither time nor lip sync', () => {
    const { clock, feed, packetsOf } = feedAt([VIDEO, OPUS])
    const [{ track: video }, { track: audio }] = [packetsOf('video'), packetsOf('audio')]
    const apart: number[] = []
    /** A second of the publisher, whose clock is 50 ppm slow. Its frames come up to 20 ms late, and `delayMs` more. */
    const second = (at: number, delayMs: number): void => {
      for (const [kind, ms] of [
        ['video', 0],
        ['audio', 400],
      ] as const) {
        const sentMs = at * 1000 + ms
        clock.nowMs = 5000 + sentMs + delayMs + ((at * 7) % 3) * 10
        feed.frame(frame(kind, sentMs * (1 - 50e-6), Buffer.concat([Buffer.from([0, 0, 0, 1, 0x41])]), at === 0))
      }
      apart.push(Math.abs((video?.timeline.wallAt(0) ?? 0) - (audio?.timeline.wallAt(0) ?? 0)))
    }
    for (let at = 0; at < 3600; at++) second(at, 0)
    const behindMs = (): number => clock.nowMs - (audio?.timeline.wallAt(audio.last?.timestamp ?? 0) ?? 0)
    expect(behindMs()).toBeLessThan(21)
    for (let at = 3600; at < 3660; at++) second(at, 300)
    expect(behindMs()).toBeGreaterThan(285)
    expect(Math.max(...apart)).toBeLessThan(1)
  })

  it('take the time of frames after the publisher has set its clock back', () => {
    const { clock, feed, packetsOf } = feedAt([OPUS])
    const { track } = packetsOf('audio')
    for (const [nowMs, timeMs] of [
      [5000, 900_000],
      [5020, 0],
      [5040, 20],
    ] as const) {
      clock.nowMs = nowMs
      feed.frame(frame('audio', timeMs, Buffer.alloc(5)))
    }
    expect(wallMs(track, 48 * 20)).toBe(5040)
  })

  it('begin a keyframe with the parameter sets, unless it has its own', () => {
    const [sps, pps] = [Buffer.from([0x67, 0x42, 0xe0, 0x1f, 1]), Buffer.from([0x68, 0xce])]
    const config = Buffer.from([1, 0x42, 0xe0, 0x1f, 0xff, 0xe1, 0, 5, ...sps, 1, 0, 2, ...pps])
    const { feed, packetsOf } = feedAt([{ ...VIDEO, config }])
    const { track } = packetsOf('video')
    const payloads: string[] = []
    track?.listen(({ payload }) => payloads.push(payload.toString('hex')))
    const sent = (timeMs: number, data: Buffer, key: boolean): string[] => {
      feed.frame(frame('video', timeMs, data, key))
      return payloads.splice(0)
    }
    expect(sent(0, nal(0x65, 2), true).join()).toContain(sps.toString('hex'))
    expect(sent(40, nal(0x41, 2), false).join()).toBe('4109')
    const own = Buffer.concat([Buffer.from([0, 0, 0, 5]), sps, nal(0x65, 2)])
    expect(sent(80, own, true).join().split(sps.toString('hex'))).toHaveLength(2)
    expect(sent(120, Buffer.from([0, 0, 0, 9, 1]), true)).toEqual([])
  })

  it('begin other tracks with another codec, whose profile viewers have to know', () => {
    const config = Uint8Array.of(1, 2)
    const { feed, ready } = feedAt([{ ...VIDEO, codec: 'hevc', config }])
    feed.tracks([{ ...VIDEO, codec: 'av1' }])
    const sources = ready.map(({ source }) => source)
    expect(sources.map(({ profile }) => profile)).toEqual(['2', null])
    expect(sources.map(({ layers }) => layers[0]?.track.shape.codec)).toEqual(['hevc', 'av1'])
  })

  it('are layers of one source where their video has several, each with packets and a bitrate of its own', () => {
    const named = (layer: string, one: Frame): Frame => ({ ...one, layer })
    const { clock, feed, ready } = feedAt([{ ...VIDEO, layer: '0' }, { ...VIDEO, width: 160, layer: '1' }, OPUS])
    const source = ready[0]?.source
    expect([source?.layers.map(({ rid }) => rid), ready[0]?.tracks.length]).toEqual([['0', '1'], 2])
    const seen = source?.layers.map(({ track }) => {
      const indexes: number[] = []
      track.listen(({ index }) => indexes.push(index))
      return indexes
    })
    feed.frame(named('0', frame('video', 0, nal(0x65, 3000), true)))
    feed.frame(named('1', frame('video', 0, nal(0x65, 300), true)))
    feed.frame(named('1', frame('video', 40, nal(0x41, 300))))
    feed.frame(named('2', frame('video', 40, nal(0x41, 300))))
    expect(seen).toEqual([
      [0, 1, 2],
      [0, 1],
    ])
    clock.nowMs = 6000
    feed.pace(clock.nowMs)
    const [large = 0, small = 0] = source?.layers.map(({ meter }) => meter.bitrate) ?? []
    expect(large).toBeGreaterThan(small)
    expect(small).toBeGreaterThan(4000)
    // One that comes late leaves the others as they are.
    feed.tracks([{ ...VIDEO, layer: '0' }, { ...VIDEO, layer: '1' }, { ...VIDEO, layer: '2' }, OPUS])
    const now = ready.at(-1)?.source.layers ?? []
    expect(now.map(({ track, meter }, at) => [track === source?.layers[at]?.track, meter.bitrate > 0])).toEqual([
      [true, true],
      [true, true],
      [false, false],
    ])
  })

  it('keep their tracks when they are announced again, rest without them, and end once', () => {
    const { feed, ready, packetsOf, ends } = feedAt([VIDEO, OPUS])
    const { seen, track } = packetsOf('video')
    feed.tracks([VIDEO])
    expect([ready.at(-1)?.source.layers[0]?.track === track, ready.at(-1)?.source.audio]).toEqual([true, null])
    feed.frame(frame('audio', 1000, Buffer.alloc(5)))
    feed.frame(frame('video', 1000, nal(0x65, 30), true))
    expect(seen).toHaveLength(1)
    feed.rest()
    expect(ready.at(-1)?.source.layers[0]?.track === track).toBe(false)
    expect(ready.at(-1)?.tracks).toEqual([VIDEO])
    feed.end()
    feed.end()
    const count = ready.length
    feed.tracks([VIDEO])
    feed.frame(frame('video', 1040, nal(0x65, 30), true))
    expect([ends(), ready.length, seen.length]).toEqual([1, count, 1])
  })
})
