import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  advanceEngine,
  type EngineEvent,
  type EngineState,
  isTimedOut,
  INITIAL_STATE,
} from '../../../../src/core/channels/runs/engine.ts'
import { coded, say } from '../../../../src/core/notices.ts'
import { ACTIVE_STATUSES, type ActiveStatus, statusOf } from '../../../../src/core/channels/types.ts'

const API = { type: 'api', id: 'credential:1' } as const

/** The states after each of these events, one second apart. */
function through(events: EngineEvent[], from: EngineState = INITIAL_STATE): { state: EngineState; words: string[] } {
  let state = from
  const words: string[] = []
  for (const [index, event] of events.entries()) {
    const step = advanceEngine(state, event, index * 1000)
    state = step.state
    words.push(...step.effects.map((effect) => (effect.do === 'tell' ? effect.status : effect.do)))
  }
  return { state, words }
}

const START: EngineEvent = { kind: 'start', cause: API }
const STOP: EngineEvent = { kind: 'stop', cause: API }
const UP: EngineEvent[] = [START, { kind: 'launched' }, { kind: 'ready' }]
const PLAYING: EngineEvent[] = [...UP, { kind: 'source' }, { kind: 'manifest' }]

describe('an engine', () => {
  test('goes from stopped to playing and back, with one run', () => {
    const { state, words } = through([...PLAYING, STOP, { kind: 'ended' }])
    const up = ['deploying', 'openRun', 'launch', 'starting', 'waiting', 'ingesting', 'playing']
    expect(words).toEqual([...up, 'stopping', 'closeRun', 'kill', 'stopped'])
    expect(state).toEqual(INITIAL_STATE)
  })

  test('ignores a start while it runs, and a stop while it is stopped', () => {
    expect(through([...PLAYING, START]).state.status).toBe('playing')
    expect(through([STOP]).words).toEqual([])
    expect(through([...UP, STOP, STOP]).words.filter((word) => word === 'closeRun')).toHaveLength(1)
  })

  test('waits again when its source is lost, and plays again when it is back', () => {
    const lost: EngineEvent[] = [...PLAYING, { kind: 'sourceLost' }]
    expect(through(lost).state).toMatchObject({ status: 'waiting', idleSinceMs: 5000 })
    const waits: EngineEvent = { kind: 'waits', message: 'nobody answers' }
    const waiting = through([...lost, waits])
    expect(waiting.state).toMatchObject({ status: 'waiting', message: { text: 'nobody answers' } })
    expect(waiting.words).toEqual(through(lost).words)
    for (const next of [{ kind: 'source' } as const, STOP]) {
      expect(advanceEngine(waiting.state, next, 0).state.message).toBeNull()
    }
    expect(through([...PLAYING, waits]).state).toMatchObject({ status: 'playing', message: null })
    expect(through([...lost, { kind: 'source' }, { kind: 'manifest' }]).state.status).toBe('playing')
  })

  test('that died is in error with the reason, and retries after a growing pause', () => {
    const missing = coded('ffmpeg_missing', { program: 'ffmpeg' })
    const died = through([...PLAYING, { kind: 'died', ...say(missing) }]).state
    expect(died).toMatchObject({ status: 'error', retryAtMs: 6000 })
    expect(died.message?.text).toMatch(/^There is no program ffmpeg: install/)
    expect(died.message?.sentences).toEqual([missing])
    expect(advanceEngine(died, { kind: 'tick' }, 5999).effects).toEqual([])
    const again = advanceEngine(died, { kind: 'tick' }, 6000)
    expect(again.state).toMatchObject({ status: 'starting', message: null })
    const twice = advanceEngine(again.state, { kind: 'died', message: 'again' }, 6000).state
    expect(twice.retryAtMs).toBe(8000)
  })

  test('that gave up waits for a start, and goes on with the same run then', () => {
    const died: EngineEvent = { kind: 'died', message: 'the login is refused', isFinal: true }
    const { state } = through([...UP, died])
    expect(state).toMatchObject({ status: 'error', message: { text: 'the login is refused' }, retryAtMs: null })
    expect(advanceEngine(state, { kind: 'tick' }, 1e9)).toEqual({ state, effects: [] })
    const again = through([...UP, died, START])
    expect(again.state).toMatchObject({ status: 'deploying', message: null })
    expect(again.words.filter((word) => word === 'openRun' || word === 'launch')).toEqual([
      'openRun',
      'launch',
      'launch',
    ])
    expect(through([...UP, died, STOP]).state).toEqual(INITIAL_STATE)
  })

  test('that keeps failing continues at once when another source arrives, and its pauses are short again', () => {
    const died: EngineEvent = { kind: 'died', message: 'it cannot be decoded' }
    const failing = through([...PLAYING, died, { kind: 'tick' }, died, { kind: 'tick' }, died, { kind: 'tick' }, died])
    expect(failing.state.failures).toBeGreaterThan(1)
    const { state, words } = through([{ kind: 'source' }], failing.state)
    expect(words).toEqual(['ingesting'])
    expect(state).toMatchObject({ failures: 0, retryAtMs: null, message: null, idleSinceMs: null })
    expect(advanceEngine(state, died, 0).state.retryAtMs).toBe(1000)
  })

  test('in error can be stopped, at once', () => {
    expect(through([...UP, { kind: 'died', message: 'x' }, STOP]).words.slice(-3)).toEqual([
      'stopped',
      'closeRun',
      'kill',
    ])
  })

  test('that goes to another node starts there in the same run, whatever it did', () => {
    const moved: EngineEvent = { kind: 'moved' }
    const there: EngineEvent[] = [
      moved,
      { kind: 'launched' },
      { kind: 'ready' },
      { kind: 'source' },
      { kind: 'manifest' },
    ]
    const { state, words } = through([...PLAYING, ...there])
    expect(words.slice(through(PLAYING).words.length)).toEqual([
      'deploying',
      'launch',
      'starting',
      'waiting',
      'ingesting',
      'playing',
    ])
    expect(state).toMatchObject({ status: 'playing', idleSinceMs: null })
    expect(through([...PLAYING, moved]).state).toMatchObject({ status: 'deploying', idleSinceMs: 5000 })
    expect(through([...UP, moved]).state.idleSinceMs).toBe(0)
    const died = through([...PLAYING, { kind: 'died', message: 'it has no ffmpeg' }, moved]).state
    expect(died).toMatchObject({ status: 'deploying', failures: 0, retryAtMs: null, message: null })
    for (const events of [[], [...PLAYING, STOP]]) expect(through([...events, moved])).toEqual(through(events))
  })

  test('opens and closes runs in turn, and has an open run exactly while it runs', () => {
    const event = fc.oneof(
      ...[START, STOP].map((one) => fc.constant(one)),
      fc
        .constantFrom('launched', 'ready', 'source', 'manifest', 'sourceLost', 'ended', 'lost', 'moved', 'tick')
        .map((kind) => ({ kind })),
      fc.constant({ kind: 'died', message: 'it died' }),
      fc.constant({ kind: 'waits', message: 'it does not answer' }),
    ) as fc.Arbitrary<EngineEvent>
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
        let [state, open, nowMs] = [INITIAL_STATE, false, 0]
        for (const one of events) {
          const step = advanceEngine(state, one, (nowMs += 10_000))
          for (const effect of step.effects) {
            if (effect.do !== 'openRun' && effect.do !== 'closeRun') continue
            expect(open).toBe(effect.do === 'closeRun')
            open = !open
          }
          state = step.state
          expect(open).toBe(state.status !== 'stopped' && state.status !== 'stopping')
        }
      }),
    )
  })
})

const DIED: EngineEvent = { kind: 'died', message: 'it broke' }
const REACHED: Readonly<Record<ActiveStatus, EngineEvent[]>> = {
  stopped: [],
  deploying: [START],
  starting: [START, { kind: 'launched' }],
  waiting: UP,
  ingesting: [...UP, { kind: 'source' }],
  playing: PLAYING,
  stopping: [...PLAYING, STOP],
  error: [...UP, DIED],
}
const RUNNING = ['deploying', 'starting', 'waiting', 'ingesting', 'playing'] as const

test.each<[EngineEvent, readonly ActiveStatus[], ActiveStatus]>([
  [{ kind: 'launched' }, ['deploying'], 'starting'],
  [{ kind: 'ready' }, ['starting'], 'waiting'],
  [{ kind: 'source' }, ['starting', 'waiting', 'error'], 'ingesting'],
  [{ kind: 'manifest' }, ['ingesting'], 'playing'],
  [{ kind: 'sourceLost' }, ['ingesting', 'playing'], 'waiting'],
  [{ kind: 'ended' }, ['stopping'], 'stopped'],
  [{ kind: 'lost' }, [...RUNNING, 'error', 'stopping'], 'stopped'],
  [{ kind: 'moved' }, [...RUNNING, 'error'], 'deploying'],
  [DIED, RUNNING, 'error'],
  [{ kind: 'tick' }, ['error'], 'starting'],
])('%j means something where it can happen, and comes too late elsewhere', (event, where, next) => {
  for (const status of ACTIVE_STATUSES) {
    const { state } = through(REACHED[status])
    expect(state.status).toBe(status)
    const after = advanceEngine(state, event, 5000)
    if (where.includes(status))
      expect([after.state.status, after.effects[0]]).toEqual([next, { do: 'tell', status: next }])
    else expect(after).toEqual({ state, effects: [] })
  }
})

test('an engine that failed is tried again within a minute, although the clock was put back by an hour', () => {
  const failed = advanceEngine(through(PLAYING).state, { kind: 'died', message: 'it broke' }, 7_200_000).state
  expect(advanceEngine(failed, { kind: 'tick' }, 7_200_000).effects).toEqual([])
  expect(advanceEngine(failed, { kind: 'tick' }, 3_600_000).effects).toContainEqual({ do: 'launch' })
})

test('one that has failed often is tried again after a minute, and not at once', () => {
  let { state } = through(PLAYING)
  for (let failures = 0; failures < 9; failures += 1) {
    state = advanceEngine(state, { kind: 'died', message: 'it broke' }, 0).state
    if (failures >= 6) expect(state.retryAtMs).toBe(60_000)
    expect(advanceEngine(state, { kind: 'tick' }, 0).effects).toEqual([])
    state = advanceEngine(state, { kind: 'tick' }, 60_000).state
  }
})

test('a notice is shown while the engine is up, until it is taken back', () => {
  const sentences = [coded('ffmpeg_missing', { program: 'ffmpeg' })]
  const noticed = (state: EngineState, said = sentences) => advanceEngine(state, { kind: 'notice', sentences: said }, 0)
  for (const events of [[START], UP, PLAYING]) {
    const { state } = through(events)
    const shown = noticed(state)
    expect(shown).toMatchObject({ state: { status: state.status, message: { sentences } }, effects: [] })
    expect(noticed(shown.state).state).toBe(shown.state)
    expect(noticed(shown.state, []).state.message).toBeNull()
  }
  for (const state of [INITIAL_STATE, through([...PLAYING, STOP]).state]) expect(noticed(state).state).toBe(state)
})

describe('a channel', () => {
  test('has the status of its most advanced engine', () => {
    expect(statusOf([])).toBe('stopped')
    expect(statusOf(['error', 'stopped'])).toBe('error')
    for (const [index, status] of ACTIVE_STATUSES.entries()) {
      expect(statusOf(ACTIVE_STATUSES.slice(index).toReversed())).toBe(status)
    }
  })

  test('stops by itself when no engine has had a source for the timeout, and never with timeout 0', () => {
    const waiting = through(UP).state
    const playing = through(PLAYING).state
    expect(isTimedOut([waiting, INITIAL_STATE], 60, 59_999)).toBe(false)
    expect(isTimedOut([waiting, INITIAL_STATE], 60, 60_000)).toBe(true)
    expect(isTimedOut([waiting, playing], 60, 600_000)).toBe(false)
    // The source of another engine was there a moment ago.
    const idle = through([...PLAYING, { kind: 'sourceLost' }]).state
    expect([64_999, 65_000].map((nowMs) => isTimedOut([waiting, idle], 60, nowMs))).toEqual([false, true])
    expect(isTimedOut([waiting], 0, 600_000)).toBe(false)
    expect(isTimedOut([], 60, 600_000)).toBe(false)
  })
})
