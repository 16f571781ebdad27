import { describe, expect, it, vi } from 'vitest'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { sizeOf } from '../../../src/media/relay/forward/layerSize.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { BitrateMeter, type Layer, nextBitrate, type Source } from '../../../src/media/relay/forward/source.ts'
import { tap } from '../../../src/media/relay/forward/tap.ts'
import { PublisherClock, Timeline } from '../../../src/media/relay/forward/timeline.ts'

const keyframe = (width = 640) => Buffer.from([0x10, 0x10, 2, 0, 0x9d, 1, 0x2a, width & 255, width >> 8, 0x68, 1, 9, 9])
const delta = Buffer.from([0x10, 0x11, 2, 0, 9])

/** A publisher of VP8 and Opus, or of one of them; its packets are sent by the test. */
function publisher({ layers = 1, hasAudio = true } = {}) {
  let asked = 0
  const video = Array.from({ length: layers }, (): Layer => {
    const track = new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, () => void asked++)
    return { rid: '', track, meter: new BitrateMeter(0) }
  })
  const audio = hasAudio ? new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, null) : null
  const source: Source = { sessionId: 's', sourceId: null, audio, layers: video, profile: null }
  const next = new Map<RtpTrack, number>()
  const send = (
    track: RtpTrack | null | undefined,
    payload: Buffer,
    atMs: number,
    { key = false, mediaMs = atMs, lost = 0 } = {},
  ) => {
    if (track === null || track === undefined) throw new Error('there is no such track')
    const index = (next.get(track) ?? 100) + lost
    next.set(track, index + 1)
    const timestamp = ((mediaMs * track.shape.rate) / 1000) >>> 0
    track.take({ ssrc: 1, index, timestamp, marker: true, payload, isKeyStart: key }, atMs)
  }
  return {
    source,
    asked: () => asked,
    video: (payload: Buffer, atMs: number, over = {}) =>
      send(video[0]?.track, payload, atMs, { key: payload.length > 6, ...over }),
    layer: (at: number, payload: Buffer, atMs: number) =>
      send(video[at]?.track, payload, atMs, { key: payload.length > 6 }),
    audio: (atMs: number, over: { mediaMs?: number; bytes?: number } = {}) =>
      send(audio, Buffer.alloc(over.bytes ?? 3, 7), atMs, over),
  }
}

function recorder() {
  const tracks: (readonly TrackInfo[])[] = []
  const frames: Frame[] = []
  const sink: FrameSink = {
    tracks: (all) => void tracks.push(all),
    frame: (one) => void frames.push(one),
    end: () => undefined,
  }
  const seen = () =>
    frames.splice(0).map(({ kind, key, timeUs }) => `${kind}${key ? ' key' : ''} ${Math.round(timeUs / 1000)}`)
  return { tracks, frames, sink, seen }
}

describe('the frames of a publisher', () => {
  it('begin with a keyframe, at time 0, with the format that it has', () => {
    const { source, video, audio } = publisher()
    const { tracks, sink, seen, frames } = recorder()
    tap(source, sink, 1000)
    audio(1000)
    video(delta, 1000)
    expect([tracks, seen()]).toEqual([[], []])
    video(keyframe(), 1040)
    expect(frames[0]).toMatchObject({ decodeTimeUs: 0, data: keyframe().subarray(1) })
    video(delta, 1080)
    audio(1080)
    expect(seen()).toEqual(['video key 0', 'video 40', 'audio key 40'])
    const opus = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2 }
    expect(tracks).toMatchObject([[{ kind: 'video', codec: 'vp8', width: 640, height: 360 }, opus]])
    video(keyframe(), 1120)
    video(keyframe(320), 1160)
    expect(tracks.map((all) => (all[0]?.kind === 'video' ? all[0].width : null))).toEqual([640, 320])
  })

  it('have another size once a second, and five at once: each starts another process of those who convert them', () => {
    const { source, video } = publisher({ hasAudio: false })
    const { tracks, frames, sink } = recorder()
    const count = () => [tracks.length, frames.length]
    tap(source, sink, 1000)
    for (let width = 100; width < 200; width++) {
      const atMs = 1000 + 9 * (width - 100)
      video(keyframe(width), atMs)
      video(delta, atMs + 5)
    }
    expect(count()).toEqual([6, 12])
    // The size that they have had last, whatever was left out since.
    video(keyframe(105), 1950)
    video(delta, 1960)
    expect(count()).toEqual([6, 14])
    video(keyframe(300), 3000)
    expect(tracks.at(-1)).toMatchObject([{ width: 300 }])
    expect(count()).toEqual([7, 15])
  })

  it('begin with what was sent since the last keyframe, and go on until they are stopped', () => {
    const { source, video, audio } = publisher({ hasAudio: true })
    video(keyframe(), 1000)
    video(delta, 1040)
    const { sink, seen, tracks } = recorder()
    const stop = tap(source, sink, 1050)
    expect(seen()).toEqual(['video key 0', 'video 40'])
    stop()
    video(delta, 1080)
    audio(1080)
    expect([seen(), tracks.length]).toEqual([[], 1])
  })

  it('are of audio alone where there is no video, and after three seconds without any', () => {
    const alone = publisher({ layers: 0 })
    const first = recorder()
    tap(alone.source, first.sink, 1000)
    alone.audio(1000)
    alone.audio(1020, { bytes: 0 })
    expect([first.seen(), first.tracks.length]).toEqual([['audio key 0'], 1])
    const waiting = publisher()
    const second = recorder()
    tap(waiting.source, second.sink, 1000)
    waiting.audio(4000)
    expect(second.seen()).toEqual([])
    waiting.audio(4001)
    waiting.audio(4021)
    expect(second.seen()).toEqual(['audio key 0', 'audio key 20'])
    expect(second.tracks).toMatchObject([[{ kind: 'audio' }]])
    waiting.video(keyframe(), 4041)
    expect([second.tracks.length, second.tracks[1]?.length, second.seen()]).toEqual([2, 2, ['video key 40']])
  })

  it('go on as they arrive when the clock of their RTP packets is set, until its reports are right again', () => {
    for (const jumpMs of [3_600_000, -60_000, -4000]) {
      const { source, video, audio } = publisher()
      const { sink, seen } = recorder()
      tap(source, sink, 100_000)
      video(keyframe(), 100_000)
      video(keyframe(), 101_000, { mediaMs: 101_000 + jumpMs })
      video(delta, 101_040, { mediaMs: 101_040 + jumpMs })
      audio(101_040)
      expect(seen()).toEqual(['video key 0', 'video key 1000', 'video 1040', 'audio key 1040'])
      const timeline = source.layers[0]?.track.timeline
      // A report from before the jump comes late.
      timeline?.reported((101_000 * 90) >>> 0, 101_000)
      video(delta, 101_080, { mediaMs: 101_080 + jumpMs })
      timeline?.reported(((101_120 + jumpMs) * 90) >>> 0, 101_220)
      video(delta, 101_320, { mediaMs: 101_120 + jumpMs })
      expect(seen()).toEqual(['video 1080', 'video 1220'])
    }
  })

  it('ask for a keyframe after a loss, and when the last one is nearly two seconds old', () => {
    const { source, video, asked } = publisher({ hasAudio: false })
    const { sink, seen } = recorder()
    tap(source, sink, 0)
    video(keyframe(), 0)
    video(delta, 1900)
    expect(asked()).toBe(0)
    video(delta, 1901)
    expect(asked()).toBe(1)
    video(keyframe(), 2400)
    video(delta, 2440, { lost: 1 })
    video(delta, 2900)
    expect(asked()).toBeGreaterThanOrEqual(1)
    expect(seen().at(-1)).toMatch(/^video/)
  })

  it('have times that grow evenly with the media clock, and never stray far from the clock of all', () => {
    const { source, audio } = publisher({ layers: 0 })
    const { sink, seen, frames } = recorder()
    tap(source, sink, 1000)
    audio(1000)
    // The network jitters, the media clock does not.
    audio(1070, { mediaMs: 1020 })
    audio(1071, { mediaMs: 1040 })
    expect(seen()).toEqual(['audio key 0', 'audio key 20', 'audio key 40'])
    // What goes back does not: a muxer would refuse it.
    audio(1072, { mediaMs: 1030 })
    audio(1073, { mediaMs: 1060 })
    expect(frames.map(({ timeUs }) => timeUs)).toEqual([40_010, 60_000])
    source.audio?.timeline.reported((1060 * 48) >>> 0, 1140)
    audio(1074, { mediaMs: 1080 })
    // Of 80 ms it makes up what a clock may drift in 20 ms.
    expect(frames.at(-1)?.timeUs).toBe(80_004)
    source.audio?.timeline.reported((1060 * 48) >>> 0, 1141)
    audio(1075, { mediaMs: 1100 })
    expect(frames.at(-1)?.timeUs).toBe(181_000)
  })

  it('had a gap of 80 ms each time when the clock of their sound had drifted so far', () => {
    const { source, audio } = publisher({ layers: 0 })
    const { sink, frames } = recorder()
    tap(source, sink, 1000)
    const drift = 1.0001
    for (let atMs = 1000; atMs < 1_000_000; atMs += 60) {
      if (atMs % 3000 === 1000) source.audio?.timeline.reported((atMs * drift * 48) >>> 0, atMs)
      audio(atMs, { mediaMs: atMs * drift })
    }
    const steps = frames.slice(1).map(({ timeUs }, at) => timeUs - (frames[at]?.timeUs ?? 0))
    expect(Math.max(...steps.map((us) => Math.abs(us - 60_000)))).toBeLessThan(100)
    expect(Math.abs((frames.at(-1)?.timeUs ?? 0) - 60_000 * steps.length)).toBeLessThan(2000)
  })
})

describe('the frames of a publisher with three layers, the smallest first', () => {
  /** Of a tap from time 0 on. */
  function simulcast() {
    const { source, layer, asked } = publisher({ layers: 3, hasAudio: false })
    const { sink, frames, tracks } = recorder()
    const stop = tap(source, sink, 0)
    /** Frames of these layers every 100 ms, each second a keyframe. */
    const play = (fromMs: number, toMs: number, ats: readonly number[]): void => {
      for (let ms = fromMs; ms < toMs; ms += 100)
        for (const at of ats) layer(at, ms % 1000 === 0 ? keyframe(160 * 2 ** at) : delta, ms + at)
    }
    const widths = () => tracks.map(([video]) => (video?.kind === 'video' ? video.width : null))
    const longestStepMs = () => {
      const steps = frames.slice(1).map(({ timeUs }, at) => timeUs - (frames[at]?.timeUs ?? 0))
      expect(Math.min(...steps)).toBeGreaterThan(0)
      return Math.round(Math.max(...steps) / 1000)
    }
    return { layer, play, widths, longestStepMs, frames, stop, asked }
  }

  it('were those of the smallest layer, and are those of the largest, from its first keyframe on', () => {
    const { layer, play, widths, longestStepMs, frames, stop } = simulcast()
    layer(0, keyframe(160), 0)
    layer(1, keyframe(320), 1)
    expect(frames).toEqual([])
    layer(2, keyframe(640), 2)
    play(100, 60_000, [0, 1, 2])
    expect([widths(), frames.length, longestStepMs()]).toEqual([[640], 600, 100])
    stop()
    play(60_000, 61_000, [0, 1, 2])
    expect(frames).toHaveLength(600)
  })

  it('are those of a larger layer when it has come for ten seconds, and of the next one when theirs stops', () => {
    const { play, widths, longestStepMs, frames } = simulcast()
    play(0, 2000, [0])
    expect(frames).toEqual([])
    play(2000, 13_000, [0])
    play(13_000, 22_000, [0, 1, 2])
    expect(widths()).toEqual([160])
    play(22_000, 26_000, [0, 1, 2])
    expect([widths(), longestStepMs()]).toEqual([[160, 640], 100])
    play(26_000, 30_000, [0, 1])
    expect(widths()).toEqual([160, 640, 320])
    expect(longestStepMs()).toBeLessThanOrEqual(4100)
    // A layer that comes and goes changes nothing.
    for (let ms = 30_000; ms < 90_000; ms += 10_000) {
      play(ms, ms + 5000, [0, 1, 2])
      play(ms + 5000, ms + 10_000, [0, 1])
    }
    expect(widths()).toEqual([160, 640, 320])
  })

  it('are of the same layer after a pause of all, however long it is', () => {
    const { play, widths } = simulcast()
    play(0, 5000, [0, 1, 2])
    for (const ms of [8000, 70_000, 4_000_000]) play(ms, ms + 900, [0, 1, 2])
    expect(widths()).toEqual([640])
  })
})

describe('the RTP time of a track', () => {
  it('is that of its first packet until a report, and of the report after it', () => {
    const timeline = new Timeline(90_000)
    expect([timeline.timestampAt(0), timeline.wallAt(0)]).toEqual([null, null])
    timeline.seen(0xffffffff, 1000)
    timeline.seen(5, 9000)
    expect([timeline.timestampAt(1001), timeline.timestampAt(999)]).toEqual([89, 0xffffffff - 90])
    expect([timeline.wallAt(89), timeline.wallAt(0xffffffff - 90)]).toEqual([1001, 999])
    timeline.reported(180, 2000)
    expect([timeline.timestampAt(2000), timeline.wallAt(270)]).toEqual([180, 2001])
    timeline.reset()
    expect(timeline.wallAt(180)).toBeNull()
  })

  it('is put on our clock once for all tracks of a publisher, and again when its clock was set', () => {
    const clock = new PublisherClock()
    expect(clock.localize(500, 1000)).toBe(1000)
    expect(clock.localize(600, 1150)).toBeCloseTo(1100, 1)
    expect([clock.localize(5599, 1100), clock.localize(501, 6000)].map(Math.round)).toEqual([6099, 1002])
    expect([clock.localize(5602, 1100), clock.localize(5602, 1100)]).toEqual([1100, 1100])
    expect(clock.localize(500, 1000)).toBe(1000)
  })

  it.each([0.0001, -0.0001])('jumped by five seconds once a day where a clock goes wrong by %d', (drift) => {
    const clock = new PublisherClock()
    for (let atMs = 0; atMs < 2 * 86_400_000; atMs += 5000) {
      const onOursMs = clock.localize(atMs * (1 + drift), atMs)
      if (Math.abs(onOursMs - atMs) > 2) throw new Error(`${onOursMs - atMs} ms apart after ${atMs} ms`)
    }
  })
})

describe('a meter', () => {
  it('measures once in nine tenths of a second or longer, and forgets what it measured', () => {
    const meter = new BitrateMeter(1000)
    meter.add(900)
    meter.tick(1899)
    expect(meter.bitrate).toBe(0)
    meter.tick(1900)
    expect(meter.bitrate).toBe(8000)
    meter.add(100)
    meter.add(25)
    meter.tick(2900)
    expect(meter.bitrate).toBe(1000)
    meter.tick(3900)
    expect(meter.bitrate).toBe(0)
  })

  it('of larger layers tells which one is next', () => {
    const layerOf = (bytes: number): Layer => {
      const { source } = publisher({ hasAudio: false })
      const [layer] = source.layers
      if (layer === undefined) throw new Error('there is one')
      layer.meter.add(bytes)
      layer.meter.tick(1000)
      return layer
    }
    const layers = [layerOf(300), layerOf(100), layerOf(200), layerOf(200)]
    expect(layers.map((layer) => nextBitrate(layers, layer))).toEqual([null, 1600, 2400, 2400])
  })
})

it('a keyframe without a size is read at most every 50 ms, however often its size is asked for', () => {
  const { source, layer } = publisher()
  const track = source.layers[0]!.track
  layer(0, keyframe(0), 0)
  const read = vi.spyOn(track, 'keyframe')
  for (let atMs = 0; atMs < 100; atMs++) expect(sizeOf(track, atMs).width).toBe(0)
  expect(read).toHaveBeenCalledTimes(2)
})
