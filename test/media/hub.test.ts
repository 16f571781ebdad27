import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Frame, FrameSink, TrackInfo } from '../../src/media/frame.ts'
import { Hub, TimedHub } from '../../src/media/hub.ts'
import { mainLayerAlone } from '../../src/media/layers.ts'

const video = (version = 1): TrackInfo => ({
  kind: 'video',
  codec: 'h264',
  width: 320,
  height: 240,
  config: Uint8Array.of(version),
})
const audio: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 48_000, channels: 2, config: Uint8Array.of(1) }

let number = 0
const frame = (kind: Frame['kind'], key: boolean, bytes = 10): Frame => {
  const timeUs = ++number * 1000
  return { kind, key, timeUs, decodeTimeUs: timeUs, data: new Uint8Array(bytes) }
}
const key = () => frame('video', true)
const delta = () => frame('video', false)
const audioFrame = () => frame('audio', true)

class Listener implements FrameSink {
  readonly got: (Frame | readonly TrackInfo[] | 'end')[] = []
  tracks(tracks: readonly TrackInfo[]): void {
    this.got.push(tracks)
  }
  frame(one: Frame): void {
    this.got.push(one)
  }
  end(): void {
    this.got.push('end')
  }
}

const listen = (hub: Hub): Listener => {
  const listener = new Listener()
  hub.subscribe(listener)
  return listener
}

function feed(hub: Hub, ...frames: readonly Frame[]): readonly Frame[] {
  for (const one of frames) hub.frame(one)
  return frames
}

describe('a subscriber', () => {
  test('that comes before the first frame gets everything from the first keyframe on', () => {
    const hub = new Hub()
    const early = listen(hub)
    hub.tracks([video(), audio])
    feed(hub, audioFrame(), delta())
    const rest = feed(hub, key(), audioFrame(), delta())
    hub.end()
    expect(early.got).toEqual([[video(), audio], ...rest, 'end'])
  })

  test('that comes late begins at the last keyframe', () => {
    const hub = new Hub()
    hub.tracks([video(), audio])
    feed(hub, key(), delta(), audioFrame())
    const group = feed(hub, key(), audioFrame(), delta())
    const late = listen(hub)
    const rest = feed(hub, delta())
    expect(late.got).toEqual([[video(), audio], ...group, ...rest])
  })

  test('of audio only gets it at once', () => {
    const hub = new Hub()
    hub.tracks([audio])
    feed(hub, audioFrame())
    const late = listen(hub)
    const rest = feed(hub, audioFrame())
    expect(late.got).toEqual([[audio], ...rest])
  })

  test('waits for the next keyframe when the group of pictures is too large', () => {
    for (const limits of [
      { maxFrames: 3, maxBytes: 1000 },
      { maxFrames: 100, maxBytes: 35 },
    ]) {
      const hub = new Hub({ limits })
      hub.tracks([video()])
      feed(hub, key(), delta(), delta(), delta())
      const late = listen(hub)
      feed(hub, delta())
      const rest = feed(hub, key(), delta())
      expect(late.got).toEqual([[video()], ...rest])
    }
  })

  test('that comes after the end gets `end` at once, and nothing after it', () => {
    const hub = new Hub()
    hub.tracks([video()])
    hub.end()
    hub.end()
    feed(hub, key())
    expect(listen(hub).got).toEqual(['end'])
  })

  test('that unsubscribes within a call gets no more', () => {
    const hub = new Hub()
    hub.tracks([video()])
    feed(hub, key(), delta())
    const got: Frame[] = []
    const stop = hub.subscribe({
      tracks: () => undefined,
      frame: (one) => {
        got.push(one)
        if (got.length === 3) stop()
      },
      end: () => undefined,
    })
    feed(hub, delta(), delta())
    expect(got).toHaveLength(3)
  })

  test('that comes while a frame is distributed gets it once', () => {
    const hub = new Hub()
    hub.tracks([video()])
    const late = new Listener()
    let came = false
    hub.subscribe({
      tracks: () => undefined,
      frame: () => {
        if (!came) hub.subscribe(late)
        came = true
      },
      end: () => undefined,
    })
    const [first] = feed(hub, key())
    expect(late.got).toEqual([[video()], first])
  })
})

describe('tracks', () => {
  test('that are repeated unchanged have no effect', () => {
    const hub = new Hub()
    hub.tracks([video()])
    const listener = listen(hub)
    const first = feed(hub, key())
    hub.tracks([video()])
    const rest = feed(hub, delta())
    expect(listener.got).toEqual([[video()], ...first, ...rest])
  })

  test('that change reach the subscribers, and frames continue from a keyframe', () => {
    const hub = new Hub()
    hub.tracks([video()])
    const listener = listen(hub)
    const first = feed(hub, key())
    hub.tracks([video(2)])
    feed(hub, delta())
    const rest = feed(hub, key())
    expect(listener.got).toEqual([[video()], ...first, [video(2)], ...rest])
  })
})

test('every subscriber begins with tracks and a keyframe, and misses nothing after it', () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('delta' as const, 'audio' as const) },
    { weight: 2, arbitrary: fc.constantFrom('key' as const, 'come' as const, 'go' as const) },
    { weight: 1, arbitrary: fc.constantFrom('change' as const) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), fc.integer({ min: 1, max: 12 }), (steps, maxFrames) => {
      const hub = new Hub({ limits: { maxFrames, maxBytes: 1e6 } })
      const sent: (Frame | readonly TrackInfo[])[] = []
      const present: { listener: Listener; stop: () => void }[] = []
      const listeners: Listener[] = []
      const change = (version: number) => {
        const tracks = [video(version), audio]
        sent.push(tracks)
        hub.tracks(tracks)
      }
      change(0)
      for (const [at, what] of steps.entries()) {
        if (what === 'change') change(at + 1)
        else if (what === 'go') present.shift()?.stop()
        else if (what === 'come') {
          const listener = new Listener()
          listeners.push(listener)
          present.push({ listener, stop: hub.subscribe(listener) })
        } else sent.push(...feed(hub, what === 'key' ? key() : what === 'delta' ? delta() : audioFrame()))
      }
      for (const { got } of listeners) expectFollows(sent, got)
    }),
    { numRuns: 300 },
  )
})

/** Checks that `got` is tracks and a run of `sent` that begins with a keyframe, and the same after each change of tracks. */
function expectFollows(sent: readonly (Frame | readonly TrackInfo[])[], got: Listener['got']): void {
  const parts = partsOf(got)
  for (const { tracks, frames } of parts) {
    const begin = sent.indexOf(tracks)
    const end = sent.findIndex((one, at) => at > begin && isTracks(one))
    const all = sent.slice(begin + 1, end < 0 ? sent.length : end)
    if (frames.length === 0) continue
    expect(frames[0]).toMatchObject({ kind: 'video', key: true })
    const from = all.indexOf(frames[0] as Frame)
    expect(frames).toEqual(all.slice(from, from + frames.length))
  }
}

function partsOf(got: Listener['got']): { tracks: readonly TrackInfo[]; frames: Frame[] }[] {
  const parts: { tracks: readonly TrackInfo[]; frames: Frame[] }[] = []
  for (const one of got) {
    if (one === 'end') continue
    if (isTracks(one)) parts.push({ tracks: one, frames: [] })
    else parts.at(-1)?.frames.push(one)
  }
  return parts
}

const isTracks = (one: unknown): one is readonly TrackInfo[] => Array.isArray(one)

test('times are written into pictures of H.264 only', () => {
  const coded = { ...key(), data: Buffer.from([0, 0, 0, 2, 0x65, 1]) }
  const bytesOf = (tracks: readonly TrackInfo[], one: Frame): number => {
    const hub = new TimedHub('all', { now: () => 1_700_000_000_000.5 })
    hub.tracks(tracks)
    const { got } = listen(hub)
    hub.frame(one)
    return (got.at(-1) as Frame).data.length
  }
  expect(bytesOf([video(), audio], coded)).toBeGreaterThan(coded.data.length)
  expect(bytesOf([{ ...video(), codec: 'hevc' } as TrackInfo, audio], coded)).toBe(coded.data.length)
  expect(bytesOf([audio], { ...audioFrame(), data: coded.data })).toBe(coded.data.length)
})

describe('of video in layers', () => {
  const layer = (name: string, version: number): TrackInfo => ({ ...video(version), layer: name }) as TrackInfo
  const of = (name: string, one: Frame): Frame => ({ ...one, layer: name })
  const withoutName = (one: Frame): Frame => {
    const { layer: _, ...alone } = one
    return alone
  }
  const [large, small] = [layer('0', 1), layer('1', 2)]

  function listening(hub: Hub): { all: Listener; main: Listener } {
    const all = Object.assign(new Listener(), { takesLayers: true as const })
    hub.subscribe(all)
    return { all, main: listen(hub) }
  }

  test('a subscriber gets the main one alone, without its name, unless it takes all', () => {
    const hub = new Hub()
    const { all, main } = listening(hub)
    hub.tracks([large, small, audio])
    const frames = [of('0', key()), of('1', key()), audioFrame(), of('1', delta()), of('0', delta())]
    feed(hub, ...frames)
    expect(all.got).toEqual([[large, small, audio], ...frames])
    const ofMain = frames.filter(({ layer: name }) => name !== '1')
    expect(main.got).toEqual([[video(1), audio], ...ofMain.map(withoutName)])
    // A keyframe of another layer is no place to begin.
    feed(hub, of('1', key()))
    expect(listen(hub).got).toEqual(main.got)
    expect(listening(hub).all.got).toEqual([[large, small, audio], ...ofMain])
  })

  test('a source has the main one alone for all who subscribe, if it is asked for that', () => {
    const hub = new Hub()
    const all = Object.assign(new Listener(), { takesLayers: true as const })
    mainLayerAlone(hub).subscribe(all)
    hub.tracks([large, small, audio])
    const [first, , heard] = feed(hub, of('0', key()), of('1', key()), audioFrame())
    hub.end()
    expect(all.got).toEqual([[video(1), audio], first && withoutName(first), heard, 'end'])
  })

  test('one that comes, and the names that come with it, interrupt no subscriber', () => {
    const hub = new Hub()
    const { all, main } = listening(hub)
    hub.tracks([video(1), audio])
    feed(hub, key())
    hub.tracks([large, small, audio])
    const rest = feed(hub, of('0', delta()), of('1', key()))
    expect(all.got.slice(2)).toEqual([[large, small, audio], ...rest])
    expect(main.got.slice(2)).toEqual(rest.slice(0, 1).map(withoutName))
  })

  test('another main one begins for all with its keyframe', () => {
    const hub = new Hub()
    const { all, main } = listening(hub)
    hub.tracks([large, small])
    feed(hub, of('0', key()))
    hub.tracks([small, large])
    feed(hub, of('0', delta()), of('1', delta()))
    const rest = feed(hub, of('1', key()), of('0', delta()))
    expect(main.got.slice(2)).toEqual([[video(2)], ...rest.slice(0, 1).map(withoutName)])
    expect(all.got.slice(2)).toEqual([[small, large], ...rest])
  })
})
