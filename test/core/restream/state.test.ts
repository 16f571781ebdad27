import { describe, expect, test } from 'vitest'
import {
  advanceTarget,
  offTarget,
  REFUSALS_MAX,
  type TargetEvent,
  type TargetState,
  TARGET_PAUSE_MAX_MS,
  TARGET_STATUSES,
  type TargetStep,
} from '../../../src/core/restream/state.ts'

const T0 = 1_750_000_000_000
const SECOND = 1000

const at = (state: TargetState, event: TargetEvent, nowMs = T0, fraction = 0): TargetStep =>
  advanceTarget(state, event, { nowMs, fraction, pauseMaxMs: TARGET_PAUSE_MAX_MS })

const start: TargetEvent = { kind: 'start' }
const stop: TargetEvent = { kind: 'stop' }
const accepted: TargetEvent = { kind: 'accepted' }
const tick: TargetEvent = { kind: 'tick' }
const lost: TargetEvent = { kind: 'lost', message: 'the host does not answer' }
const refused: TargetEvent = { kind: 'refused', message: 'no such key', isInUse: false }
const unsuitable: TargetEvent = { kind: 'unsuitable', message: 'video is VP8' }
const otherCodecs: TargetEvent = { kind: 'otherCodecs' }

const run = (events: readonly TargetEvent[], from = offTarget(T0)): TargetState =>
  events.reduce((state, event) => at(state, event, state.retryAtMs ?? state.sinceMs).state, from)

const moved = (url: string | null): TargetEvent => ({ kind: 'moved', url })

const newsOf = ({ effects }: TargetStep): unknown[] =>
  effects.map((effect) => ('news' in effect ? effect.news : effect.do))

describe('a target', () => {
  test('is dialled when there is a feed, and live when it accepts', () => {
    const dialled = at(offTarget(T0), start)
    expect(dialled.state.status).toBe('connecting')
    expect(newsOf(dialled)).toEqual([null, 'dial'])
    const live = at(dialled.state, accepted)
    expect(live.state.status).toBe('live')
    expect(newsOf(live)).toEqual(['started'])
  })

  test('ends with its feed, whatever it does', () => {
    for (const events of [[start], [start, accepted], [start, lost], [start, unsuitable], []]) {
      const step = at(run(events), stop)
      expect(step.state).toEqual(offTarget(T0))
    }
    expect(newsOf(at(run([start, accepted]), stop))).toEqual(['ended', 'hangUp'])
    expect(newsOf(at(run([start]), stop))).toEqual([null, 'hangUp'])
    expect(newsOf(at(run([start, lost]), stop))).toEqual([null])
  })

  test('is dialled again after 1, 2, 4 … 30 seconds', () => {
    const pauses: number[] = []
    let state = at(offTarget(T0), start).state
    for (let attempt = 0; attempt < 8; attempt++) {
      state = at(state, lost).state
      pauses.push(((state.retryAtMs ?? 0) - T0) / SECOND)
      expect(at(state, tick, (state.retryAtMs ?? 0) - 1).state.status).toBe('waiting')
      state = { ...at(state, tick, state.retryAtMs ?? 0).state }
      expect(state.status).toBe('connecting')
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30])
  })

  test('has pauses that differ by up to a quarter, and are never longer', () => {
    const state = at(offTarget(T0), start).state
    expect(at(state, lost, T0, 0).state.retryAtMs).toBe(T0 + 1000)
    expect(at(state, lost, T0, 1).state.retryAtMs).toBe(T0 + 750)
  })

  test('is dialled at once when the clock was put back', () => {
    const waiting = run([start, lost])
    expect(at(waiting, tick, T0 - 3600 * SECOND).state.status).toBe('connecting')
  })

  test('that was live for long begins again with a short pause; one that ends at once does not', () => {
    const tired = run([start, lost, tick, lost, tick, lost, tick, accepted])
    expect(at(tired, lost, tired.sinceMs + 9 * SECOND).state.failures).toBe(4)
    const rested = at(tired, lost, tired.sinceMs + 10 * SECOND).state
    expect(rested.failures).toBe(1)
    expect(rested.retryAtMs).toBe(tired.sinceMs + 11 * SECOND)
  })

  test('that is about to stop is dialled at once where it goes on, and later at its own address again', () => {
    const live = run([start, lost, tick, accepted])
    const step = at(live, moved('rtmp://two/app'), live.sinceMs + 10 * SECOND)
    expect(step.state).toMatchObject({ status: 'connecting', failures: 0, sinceMs: live.sinceMs + 10 * SECOND })
    expect(step.effects).toEqual([
      { do: 'record', news: 'ended' },
      { do: 'hangUp' },
      { do: 'dial', at: 'rtmp://two/app' },
    ])
    const waiting = at(step.state, lost, step.state.sinceMs).state
    expect(at(waiting, tick, waiting.retryAtMs ?? 0).effects).toContainEqual({ do: 'dial', at: null })
  })

  test('that sends it on and on is dialled with pauses, and one that took no media yet is not sent on', () => {
    const live = run([start, accepted])
    const step = at(live, moved(null), live.sinceMs + 9 * SECOND)
    expect(step.state).toMatchObject({ status: 'waiting', failures: 1 })
    expect(at(run([start]), moved(null)).effects).toEqual([])
  })

  test('that refuses the key three times is not dialled again', () => {
    const twice = run([start, refused, tick, refused])
    expect(twice.status).toBe('waiting')
    const step = at(run([tick], twice), refused)
    expect(step.state).toMatchObject({
      status: 'refused',
      refusals: REFUSALS_MAX,
      retryAtMs: null,
      problem: { message: 'no such key' },
    })
    expect(newsOf(step)).toEqual(['error', 'hangUp'])
    expect(at(step.state, tick, T0 + 3600 * SECOND).effects).toEqual([])
    expect(at(step.state, start).state).toMatchObject({ status: 'connecting', refusals: 0 })
  })

  test('that accepts every key at first and closes then is refused too', () => {
    const state = run([start, accepted, refused, tick, accepted, refused, tick, accepted, refused])
    expect(state.status).toBe('refused')
  })

  test('whose name is in use is dialled until it is free, if its key was right before', () => {
    const busy: TargetEvent = { kind: 'refused', message: 'in use', isInUse: true }
    expect(run([start, busy, tick, busy, tick, busy]).status).toBe('refused')
    const live = run([start, accepted])
    const cut = at(live, lost, T0 + 10 * SECOND).state
    expect(run([tick, busy, tick, busy, tick, busy], cut)).toMatchObject({ status: 'waiting', refusals: 0 })
  })

  test('that was live for long enough since is tried three times again', () => {
    const live = run([start, refused, tick, refused, tick, accepted])
    const cut = at(live, refused, live.sinceMs + 10 * SECOND).state
    expect(cut).toMatchObject({ status: 'waiting', refusals: 1 })
    expect([run([tick, refused], cut).status, run([tick, refused, tick, refused], cut).status]).toEqual([
      'waiting',
      'refused',
    ])
  })

  test('keeps its refusals through lost connections between them', () => {
    expect(run([start, refused, tick, lost, tick, refused, tick, refused]).status).toBe('refused')
  })

  test('fails for good when it cannot take the media', () => {
    const step = at(run([start]), unsuitable)
    expect(step.state).toMatchObject({ status: 'failed', problem: { message: 'video is VP8' }, retryAtMs: null })
    expect(at(step.state, start).state.status).toBe('connecting')
  })

  test('that cannot take the media is dialled again when its codecs change, later each time', () => {
    const first = at(run([start, unsuitable]), otherCodecs)
    expect(first.state).toMatchObject({
      status: 'waiting',
      retryAtMs: T0 + SECOND,
      problem: { message: 'video is VP8' },
    })
    expect(newsOf(first)).toEqual([null])
    const second = run([tick, unsuitable], first.state)
    expect(at(second, otherCodecs, T0).state.retryAtMs).toBe(T0 + 2 * SECOND)
  })

  test('is news once while it stays away', () => {
    const first = at(run([start]), lost)
    const again = at(run([tick], first.state), lost)
    expect([newsOf(first), newsOf(again)]).toEqual([
      ['error', 'hangUp'],
      [null, 'hangUp'],
    ])
  })

  test('ignores what comes too late', () => {
    const [off, waiting, live] = [offTarget(T0), run([start, lost]), run([start, accepted])]
    for (const event of [accepted, refused, lost, unsuitable, otherCodecs, tick, stop])
      expect(at(off, event)).toEqual(kept(off))
    for (const event of [accepted, refused, lost, otherCodecs, start]) expect(at(waiting, event)).toEqual(kept(waiting))
    for (const event of [accepted, otherCodecs, start, tick]) expect(at(live, event)).toEqual(kept(live))
  })

  test('keeps each started with one ended or error, in every order of events', () => {
    const events = [start, stop, accepted, refused, lost, unsuitable, tick]
    for (let seed = 0; seed < 300; seed++) {
      let [state, isStarted, at_] = [offTarget(T0), false, seed]
      for (let step = 0; step < 12; step++) {
        const event = events[at_ % events.length] ?? tick
        at_ = Math.floor(at_ / events.length) + step * 31 + seed
        const next = at(state, event, state.retryAtMs ?? T0)
        const [told] = next.effects.flatMap((effect) =>
          effect.do === 'record' && effect.news !== null ? [effect.news] : [],
        )
        if (told === 'started') expect(isStarted).toBe(false)
        if (told === 'ended') expect(isStarted).toBe(true)
        if (told !== undefined) isStarted = told === 'started'
        expect(isStarted).toBe(next.state.status === 'live')
        expect(TARGET_STATUSES).toContain(next.state.status)
        expect(next.state.retryAtMs !== null).toBe(next.state.status === 'waiting')
        state = next.state
      }
    }
  })
})

const kept = (state: TargetState): TargetStep => ({ state, effects: [] })
