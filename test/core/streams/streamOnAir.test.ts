import { describe, expect, test } from 'vitest'
import type { TargetReading } from '../../../src/core/streams/reading.ts'
import {
  figureUpdates,
  stateUpdates,
  type StreamOnAir,
  targetOnAir,
  totalsOf,
} from '../../../src/core/streams/streamOnAir.ts'
import { streamOnAir as stream } from '../../support/streamOnAir.ts'

const AT_MS = Date.parse('2026-01-31T12:00:00Z')

const target = (over: Partial<TargetReading> = {}): TargetReading => ({
  index: 0,
  label: 'one',
  url: 'rtmp://live.example.com/app',
  status: 'live',
  sinceMs: AT_MS,
  retryAtMs: null,
  problem: null,
  bitrateOut: null,
  liveSeconds: 5,
  lastProblem: null,
  ...over,
})

describe('a target on the air', () => {
  test('has what is known of it, and a bit rate of 0 is known', () => {
    const known = { index: 0, label: 'one', url: 'rtmp://live.example.com/app', status: 'live', liveSeconds: 5 }
    const since = '2026-01-31T12:00:00.000Z'
    expect(targetOnAir(target(), null)).toEqual({ ...known, since })
    expect(targetOnAir(target({ bitrateOut: 0, retryAtMs: AT_MS + 1000 }), 'cam')).toEqual({
      ...known,
      sourceId: 'cam',
      since,
      retryOn: '2026-01-31T12:00:01.000Z',
      bitrateOut: 0,
    })
  })
})

describe('the streams of an account', () => {
  test('have sums, in which a bit rate that is not known is 0', () => {
    const streams = [stream({ viewers: 2, bitrateOut: 10 }), stream({ viewers: 3, bitrateIn: 7, bitrateOut: 20 })]
    expect(totalsOf(streams)).toEqual({ viewers: 5, bitrateIn: 7, bitrateOut: 30 })
    expect(totalsOf([])).toEqual({ viewers: 0, bitrateIn: 0, bitrateOut: 0 })
  })

  test('begin, change their state and end, one update each', () => {
    const [stays, changes, ends] = ['stays', 'changes', 'ends'].map((streamName) => stream({ streamName }))
    const changed = { ...changes, health: 'uneven' } as StreamOnAir
    const began = stream({ streamName: 'begins' })
    expect(stateUpdates([stays, changes, ends] as StreamOnAir[], [began, stays as StreamOnAir, changed])).toEqual([
      { name: 'streamEnded', data: { streamName: 'ends' } },
      { name: 'streamStarted', data: began },
      { name: 'streamChanged', data: changed },
    ])
  })

  test.each<[string, Partial<StreamOnAir>]>([
    ['viewers', { viewers: 4, viewersByProtocol: { whep: 4, hls: 0 }, mostViewers: 4 }],
    ['bit rates', { bitrateIn: 5, bitrateOut: 6, bitrateLowest: 4, bitrateHighest: 6 }],
    ['the frame rate', { frameRate: 30 }],
    ['the bit rate of a target', { restreams: [targetOnAir(target({ bitrateOut: 6, liveSeconds: 6 }), null)] }],
  ])('have other figures and the same state when these change: %s', (_what, figures) => {
    const before = stream({ restreams: [targetOnAir(target({ bitrateOut: 5 }), null)] })
    const after = { ...before, ...figures }
    expect(stateUpdates([before], [after])).toEqual([])
    expect(figureUpdates([before], [after])).toEqual([
      { name: 'figures', data: { ...totalsOf([after]), streams: [expect.objectContaining(figures)] } },
    ])
  })

  test('change their state with the status of a target, and with another feed', () => {
    const before = stream({ restreams: [targetOnAir(target(), null)] })
    for (const change of [{ restreams: [targetOnAir(target({ status: 'waiting' }), null)] }, { feedId: 'g' }]) {
      const after = { ...before, ...change }
      expect(stateUpdates([before], [after])).toEqual([{ name: 'streamChanged', data: after }])
    }
  })

  test('have no news while all figures are as before; the sums are news when a watched stream has ended', () => {
    const [one, watched] = [stream({ streamName: 'one' }), stream({ streamName: 'watched', viewers: 9 })]
    expect(figureUpdates([one, watched], [one, watched])).toEqual([])
    expect(figureUpdates([one, watched], [one])).toEqual([
      { name: 'figures', data: { viewers: 0, bitrateIn: 0, bitrateOut: 0, streams: [] } },
    ])
  })
})
