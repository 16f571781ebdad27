import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  advanceEngine,
  type EngineEvent,
  type EngineLife,
  isTimedOut,
  NEW_LIFE,
} from '../../../src/core/life/engine.ts'
import { LIVE_STATUSES, statusOf } from '../../../src/core/live/types.ts'

const API = { type: 'api', id: 'credential:1' } as const

/** The states that these events lead through, one second apart. */
function through(events: EngineEvent[], from: EngineLife = NEW_LIFE): { life: EngineLife; words: string[] } {
  let life = from
  const words: string[] = []
  for (const [index, event] of events.entries()) {
    const step = advanceEngine(life, event, index * 1000)
    life = step.life
    words.push(...step.effects.map((effect) => (effect.do === 'tell' ? effect.status : effect.do)))
  }
  return { life, words }
}

const START: EngineEvent = { kind: 'start', cause: API }
const STOP: EngineEvent = { kind: 'stop', cause: API }
const UP: EngineEvent[] = [START, { kind: 'launched' }, { kind: 'ready' }]
const PLAYING: EngineEvent[] = [...UP, { kind: 'source' }, { kind: 'manifest' }]

describe('an engine', () => {
  test('goes from stopped to playing and back, with one run', () => {
    const { life, words } = through([...PLAYING, STOP, { kind: 'ended' }])
    const up = ['deploying', 'openRun', 'launch', 'starting', 'waiting', 'ingesting', 'playing']
    expect(words).toEqual([...up, 'stopping', 'closeRun', 'kill', 'stopped'])
    expect(life).toEqual(NEW_LIFE)
  })

  test('is not changed by a start while it runs, nor by a stop while it is stopped', () => {
    expect(through([...PLAYING, START]).life.status).toBe('playing')
    expect(through([STOP]).words).toEqual([])
    expect(through([...UP, STOP, STOP]).words.filter((word) => word === 'closeRun')).toHaveLength(1)
  })

  test('waits again when its source is lost, and plays again when it is back', () => {
    const lost: EngineEvent[] = [...PLAYING, { kind: 'sourceLost' }]
    expect(through(lost).life).toMatchObject({ status: 'waiting', idleSinceMs: 5000 })
    const waits: EngineEvent = { kind: 'waits', message: 'nobody answers' }
    const waiting = through([...lost, waits])
    expect(waiting.life).toMatchObject({ status: 'waiting', message: 'nobody answers' })
    expect(waiting.words).toEqual(through(lost).words)
    for (const next of [{ kind: 'source' } as const, STOP]) {
      expect(advanceEngine(waiting.life, next, 0).life.message).toBeNull()
    }
    expect(through([...PLAYING, waits]).life).toMatchObject({ status: 'playing', message: null })
    expect(through([...lost, { kind: 'source' }, { kind: 'manifest' }]).life.status).toBe('playing')
  })

  test('that died is in error with the reason, and tries again after a pause that grows', () => {
    const died = through([...PLAYING, { kind: 'died', message: 'ffmpeg is missing' }]).life
    expect(died).toMatchObject({ status: 'error', message: 'ffmpeg is missing', retryAtMs: 6000 })
    expect(advanceEngine(died, { kind: 'tick' }, 5999).effects).toEqual([])
    const again = advanceEngine(died, { kind: 'tick' }, 6000)
    expect(again.life).toMatchObject({ status: 'starting', message: null })
    const twice = advanceEngine(again.life, { kind: 'died', message: 'again' }, 6000).life
    expect(twice.retryAtMs).toBe(8000)
  })

  test('that keeps failing goes on at once, and with short pauses again, when another source comes', () => {
    const died: EngineEvent = { kind: 'died', message: 'it cannot be decoded' }
    const failing = through([...PLAYING, died, { kind: 'tick' }, died, { kind: 'tick' }, died, { kind: 'tick' }, died])
    expect(failing.life.failures).toBeGreaterThan(1)
    const { life, words } = through([{ kind: 'source' }], failing.life)
    expect(words).toEqual(['ingesting'])
    expect(life).toMatchObject({ failures: 0, retryAtMs: null, message: null, idleSinceMs: null })
    expect(advanceEngine(life, died, 0).life.retryAtMs).toBe(1000)
  })

  test('in error can be stopped, at once', () => {
    expect(through([...UP, { kind: 'died', message: 'x' }, STOP]).words.slice(-3)).toEqual([
      'stopped',
      'closeRun',
      'kill',
    ])
  })

  test('opens and closes runs in turn and has one open exactly while it runs, whatever happens', () => {
    const event = fc.oneof(
      ...[START, STOP].map((one) => fc.constant(one)),
      fc
        .constantFrom('launched', 'ready', 'source', 'manifest', 'sourceLost', 'ended', 'lost', 'tick')
        .map((kind) => ({ kind })),
      fc.constant({ kind: 'died', message: 'it died' }),
      fc.constant({ kind: 'waits', message: 'it does not answer' }),
    ) as fc.Arbitrary<EngineEvent>
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let [life, open, nowMs] = [NEW_LIFE, false, 0]
        for (const one of events) {
          const step = advanceEngine(life, one, (nowMs += 10_000))
          for (const effect of step.effects) {
            if (effect.do !== 'openRun' && effect.do !== 'closeRun') continue
            expect(open).toBe(effect.do === 'closeRun')
            open = !open
          }
          life = step.life
          expect(open).toBe(life.status !== 'stopped' && life.status !== 'stopping')
        }
      }),
    )
  })
})

describe('a channel', () => {
  test('has the status of its most advanced engine', () => {
    expect(statusOf([])).toBe('stopped')
    expect(statusOf(['error', 'stopped'])).toBe('error')
    for (const [index, status] of LIVE_STATUSES.entries()) {
      expect(statusOf(LIVE_STATUSES.slice(index).toReversed())).toBe(status)
    }
  })

  test('stops by itself when no engine has had a source for the timeout, and never with timeout 0', () => {
    const waiting = through(UP).life
    const playing = through(PLAYING).life
    expect(isTimedOut([waiting, NEW_LIFE], 60, 59_999)).toBe(false)
    expect(isTimedOut([waiting, NEW_LIFE], 60, 60_000)).toBe(true)
    expect(isTimedOut([waiting, playing], 60, 600_000)).toBe(false)
    expect(isTimedOut([waiting], 0, 600_000)).toBe(false)
    expect(isTimedOut([], 60, 600_000)).toBe(false)
  })
})
