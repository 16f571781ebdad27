import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Frame, FrameSink, TrackInfo, VideoTrack } from '../../src/media/frame.ts'
import { Hub } from '../../src/media/hub.ts'
import { Simulcast } from '../../src/media/simulcast.ts'
import { audioAt, videoAt } from './rtmp/media.ts'

const video = (width: number, codec: VideoTrack['codec'] = 'h264'): VideoTrack => ({
  kind: 'video',
  codec,
  width,
  height: (width * 9) / 16,
  config: Uint8Array.of(1),
})
const audio: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 48_000, channels: 2, config: Uint8Array.of(1) }

/** What the sink of a main publisher gets. */
class Shown implements FrameSink {
  readonly takesLayers = true
  names: string[] = []
  readonly frames: Frame[] = []
  ends = 0
  tracks(tracks: readonly TrackInfo[]): void {
    this.names = tracks.map((track) => (track.kind === 'video' ? `${track.layer ?? ''} ${track.width}` : track.codec))
  }
  frame(frame: Frame): void {
    this.frames.push(frame)
  }
  end(): void {
    this.ends += 1
  }
  timesOf(layer: string): number[] {
    return this.frames.filter((frame) => frame.layer === layer).map(({ decodeTimeUs }) => decodeTimeUs / 1000)
  }
}

/** Publishers of one source. */
function stage() {
  const clock = new ManualClock(0)
  const simulcast = new Simulcast(clock)
  const said: string[] = []
  const main = (name = '1') => {
    const shown = new Shown()
    const { sink } = simulcast.main('show', name, Object.assign(shown, { subscribe: () => () => undefined }))
    return { shown, sink }
  }
  const layer = (name: string, priority: number | null = null) => {
    const { sink } = simulcast.layer('show', {
      name,
      priority,
      replaced: () => said.push(`${name} is replaced`),
      refused: (why) => {
        said.push(why)
        sink.end()
      },
      waits: () => said.push(`${name} waits`),
    })
    return sink
  }
  return { clock, main, layer, said }
}

describe('layers of several publishers', () => {
  test('are those of the main one, which comes first, until they end', () => {
    const { main, layer, said } = stage()
    const { shown, sink } = main()
    sink.tracks([audio])
    const small = layer('3')
    small.tracks([video(320)])
    expect(shown.names).toEqual(['aac'])
    sink.tracks([video(1280), audio])
    layer('2').tracks([video(640)])
    expect(shown.names).toEqual(['1 1280', '3 320', '2 640', 'aac'])
    small.tracks([video(160)])
    expect(shown.names).toEqual(['1 1280', '3 160', '2 640', 'aac'])
    small.end()
    expect(shown.names).toEqual(['1 1280', '2 640', 'aac'])
    expect([said, shown.ends]).toEqual([[], 0])
  })

  test('are for viewers of the hub, and not in the feed', () => {
    const [simulcast, hub, viewer, recorder] = [new Simulcast(new ManualClock(0)), new Hub(), new Shown(), new Shown()]
    const { sink, media } = simulcast.main('show', '1', hub)
    hub.subscribe(viewer)
    media?.subscribe(recorder)
    sink.tracks([video(1280), audio])
    const nothing = { name: '2', priority: null, replaced: () => {}, refused: () => {}, waits: () => {} }
    const other = simulcast.layer('show', nothing)
    expect(other.media).toBe(null)
    other.sink.tracks([video(640)])
    for (const one of [sink, other.sink]) one.frame(videoAt(0, { key: true }))
    expect([viewer.names, viewer.frames.map(({ layer }) => layer)]).toEqual([
      ['1 1280', '2 640', 'aac'],
      ['1', '2'],
    ])
    expect([recorder.names, recorder.frames.map(({ layer }) => layer)]).toEqual([[' 1280', 'aac'], [undefined]])
  })

  test('wait for the main one, and are there for each that comes, also a spare', () => {
    const { main, layer, said } = stage()
    const low = layer('low')
    low.tracks([video(320)])
    low.frame(videoAt(0, { key: true }))
    low.frame(videoAt(40_000))
    expect(said).toEqual(['low waits'])
    for (const { shown, sink } of [main('high'), main('high')]) {
      sink.tracks([video(1280)])
      sink.frame(videoAt(0, { key: true }))
      low.frame(videoAt(80_000))
      low.frame(videoAt(120_000, { key: true }))
      low.frame(videoAt(160_000))
      expect(shown.names).toEqual(['high 1280', 'low 320'])
      expect(shown.timesOf('low')).toHaveLength(2)
      sink.end()
      expect(shown.ends).toBe(1)
    }
    low.frame(videoAt(200_000, { key: true }))
    expect(said).toEqual(['low waits', 'low waits'])
  })

  test('have the times of the main one, which comes with them, by whatever clock', () => {
    const { clock, main, layer } = stage()
    const { shown, sink } = main()
    sink.tracks([video(1280), audio])
    const other = layer('2')
    other.tracks([video(640)])
    for (let at = 0; at < 10; at += 1) {
      const key = at % 5 === 0
      sink.frame(videoAt(at * 40_000, { key }))
      sink.frame(audioAt(at * 40_000))
      // The second and third frame are on their way for longer.
      clock.advance([1, 2].includes(at) ? 30 : 2)
      other.frame(videoAt(7_200_000_000 + at * 40_000, { key, delayUs: 10_000 }))
      clock.advance([1, 2].includes(at) ? 10 : 38)
    }
    expect(shown.timesOf('2').map((ms) => Math.round(ms))).toEqual([2, 42, 82, 122, 162, 202, 242, 282, 322, 362])
    const [first] = shown.frames.filter((frame) => frame.layer === '2')
    expect((first?.timeUs ?? 0) - (first?.decodeTimeUs ?? 0)).toBe(10_000)
  })

  test('never go back in time, also where a later frame shows that the first one was late', () => {
    const { clock, main, layer } = stage()
    const { shown, sink } = main()
    sink.tracks([video(1280)])
    sink.frame(videoAt(0, { key: true }))
    const other = layer('2')
    other.tracks([video(640)])
    clock.advance(300)
    other.frame(videoAt(0, { key: true }))
    for (const at of [1, 2, 3]) other.frame(videoAt(at * 40_000))
    clock.advance(200)
    other.frame(videoAt(480_000))
    const times = shown.timesOf('2')
    expect(times).toHaveLength(5)
    expect(times.every((ms, at) => at === 0 || ms > (times[at - 1] ?? 0))).toBe(true)
    expect(times.at(-1)).toBeCloseTo(500, 0)
  })

  test('follow a clock that was set, within a minute, and no congestion of seconds', () => {
    const { clock, main, layer } = stage()
    const { shown, sink } = main()
    sink.tracks([video(1280)])
    const other = layer('2')
    other.tracks([video(640)])
    /** Pictures for some seconds, those of the layer so late, by a clock that is ahead by so much. */
    const play = (seconds: number, { lateMs = 0, aheadMs = 0 } = {}) => {
      for (let at = 0; at < seconds * 10; at += 1) {
        clock.advance(100)
        sink.frame(videoAt(clock.monotonic() * 1000, { key: true }))
        other.frame(videoAt((clock.monotonic() + aheadMs - lateMs) * 1000, { key: true }))
      }
      return Math.round(clock.monotonic() - (shown.timesOf('2').at(-1) ?? 0))
    }
    expect(play(10)).toBe(0)
    expect(play(25, { lateMs: 800 })).toBe(800)
    expect(play(2, { aheadMs: 5000 })).toBe(0)
    expect(play(70)).toBe(0)
  })

  test('of one name are shown by priority: a newcomer of the same one replaces the older', () => {
    const { main, layer, said } = stage()
    const { shown, sink } = main()
    sink.tracks([video(1280)])
    const first = layer('2', 1)
    first.tracks([video(640)])
    const backup = layer('2')
    backup.tracks([video(480)])
    expect([shown.names, said]).toEqual([['1 1280', '2 640'], []])
    layer('2', 1).tracks([video(320)])
    expect(said).toEqual(['2 is replaced'])
    first.end()
    expect(shown.names).toEqual(['1 1280', '2 320'])
  })

  test('that do not fit are refused by name, and the others stay', () => {
    const { main, layer, said } = stage()
    const { shown, sink } = main()
    sink.tracks([video(1280)])
    layer('1').tracks([video(640)])
    layer('2').tracks([video(640, 'hevc')])
    for (let at = 2; at <= 8; at += 1) layer(String(at)).tracks([video(at)])
    layer('9').tracks([video(9)])
    expect(said).toEqual([
      'The main publisher has the same sourceId: give each layer its own',
      'The layer is HEVC, and the main publisher sends H264: send all layers in one codec',
      'The source has 8 layers, and cannot have more',
    ])
    expect(shown.names).toEqual(['1 1280', ...[2, 3, 4, 5, 6, 7, 8].map((at) => `${at} ${at}`)])
  })

  test('are one each: of a publisher with several tracks the largest', () => {
    const { main, layer } = stage()
    const { shown, sink } = main()
    sink.tracks([{ ...video(1280), layer: '0' }, { ...video(640), layer: '1' }, audio])
    sink.frame({ ...videoAt(0, { key: true }), layer: '0' })
    sink.frame({ ...videoAt(0, { key: true }), layer: '1' })
    const other = layer('2')
    other.tracks([
      { ...video(320), layer: '0' },
      { ...video(160), layer: '1' },
    ])
    other.frame({ ...videoAt(0, { key: true }), layer: '1' })
    expect(shown.names).toEqual(['1 1280', '2 320', 'aac'])
    expect(shown.frames.map((frame) => frame.layer)).toEqual(['1'])
  })
})
