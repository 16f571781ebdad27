import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Beat,
  egressOf,
  hear,
  lookAt,
  type MarkState,
  type ProcessLoad,
  type SentBytes,
  takesPublishers,
  takesViewers,
  UNMARKED,
  withSent,
} from '../../../src/core/nodes/load.ts'

const MARK = { full: 0.85, free: 0.75, forMs: 5000 }
/** What is so from a moment on: a look each second at these values. A pause is `null`, of ten seconds. */
function looks(values: readonly (number | null)[]): boolean[] {
  let state: MarkState = UNMARKED
  let nowMs = 0
  return values.flatMap((value) => {
    nowMs += value === null ? 9000 : 1000
    if (value === null) return []
    state = lookAt(state, MARK, value, nowMs)
    return [state.isFull]
  })
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

describe('a mark', () => {
  test('is reached by what lasts for five seconds, and left by what is below the lower one for as long', () => {
    expect(looks(times(7, 0.85))).toEqual([...times(5, false), true, true])
    expect(looks([...times(6, 1), ...times(7, 0.74)])).toEqual([...times(5, false), ...times(6, true), false, false])
  })

  test('is not reached by moments, and what is between the two changes nothing', () => {
    expect(looks([...times(5, 1), 0.8, ...times(5, 1)])).toEqual(times(11, false))
    expect(looks([...times(6, 1), ...times(20, 0.8)]).slice(5)).toEqual(times(21, true))
    expect(looks([...times(6, 1), ...times(5, 0.1), 0.76, ...times(5, 0.1)]).slice(5)).toEqual(times(12, true))
  })

  test('begins again after a pause: what lasted before it says nothing, but what was full stays so', () => {
    expect(looks([...times(5, 1), null, ...times(6, 1)])).toEqual([...times(10, false), true])
    expect(looks([...times(6, 1), null, ...times(6, 0.1)])).toEqual([...times(5, false), ...times(6, true), false])
    expect(looks([1, null, 1, null, 1, null, 1])).toEqual(times(4, false))
  })

  test('is reached at once if it says so', () => {
    expect(lookAt(UNMARKED, { full: 1, free: 0.9, forMs: 0 }, 1, 5)).toMatchObject({ isFull: true })
  })
})

function after(beats: readonly Partial<Beat>[]): ProcessLoad {
  let state: ProcessLoad | null = null
  for (const [at, beat] of beats.entries())
    state = hear(state, { load: 0.1, meanMs: 1, watching: 0, ...beat }, at * 1000)
  if (state === null) throw new Error('no beat')
  return state
}

describe('a media process', () => {
  test('takes no viewers at 85 % for five seconds, but publishers up to 95 %', () => {
    const [below, busy, full] = [0.84, 0.85, 0.95].map((load) => after(times(6, { load })))
    expect([below, busy, full].map((process) => process && takesViewers(process, 0))).toEqual([true, false, false])
    expect([below, busy, full].map((process) => process && takesPublishers(process))).toEqual([true, true, false])
  })

  test('takes no viewers from three beats behind with its media until five in time, and a pause is one beat', () => {
    expect(takesViewers(after([{ meanMs: 4000 }, {}, { meanMs: 151 }, { meanMs: 151 }]), 0)).toBe(true)
    expect(takesViewers(after(times(3, { meanMs: 151 })), 0)).toBe(false)
    const late = times(3, { meanMs: 151 })
    expect(takesViewers(after([...late, ...times(4, { meanMs: 150 }), ...late.slice(1), ...times(4, {})]), 0)).toBe(
      false,
    )
    expect(takesViewers(after([...late, ...times(5, { meanMs: 150 })]), 0)).toBe(true)
    expect(takesPublishers(after(times(3, { meanMs: 151 })))).toBe(true)
  })
})

describe('a crowd', () => {
  /** Seconds in which viewers come to a process, each of whom costs as much. Returns how many are there after each. */
  function crowd(cost: number, coming: readonly number[]): number[] {
    let state: ProcessLoad | null = null
    let watching = 0
    return coming.map((count, at) => {
      const begun = watching
      for (let n = 0; n < count; n++) if (state === null || takesViewers(state, watching)) watching += 1
      state = hear(state, { load: Math.min(1, (cost * (begun + watching)) / 2), meanMs: 1, watching }, at * 1000)
      return watching
    })
  }

  test('that comes within the five seconds of the mark finds no room beyond it', () => {
    const room = 0.85 / 0.002
    const there = crowd(0.002, times(20, 50))
    expect(there.slice(0, 7)).toEqual([50, 100, 150, 200, 250, 300, 350])
    // Each beat lets one more in, until the mark is reached.
    expect(there.at(-1)).toBeLessThanOrEqual(room + 6)
    expect(there.at(-1)).toBeGreaterThanOrEqual(room)
  })

  test('exceeds the mark by those of a second at most, however it comes', () => {
    const seconds = fc.array(fc.double({ min: 0, max: 0.25, noNaN: true }), {
      minLength: 1,
      maxLength: 20,
      size: 'max',
    })
    fc.assert(
      fc.property(fc.double({ min: 0.0005, max: 0.003, noNaN: true }), seconds, (cost, shares) => {
        const room = 0.85 / cost
        const coming = shares.map((share) => Math.round(share * room))
        const most = Math.max(...crowd(cost, coming))
        expect(most).toBeLessThanOrEqual(room + Math.max(...coming) + 1)
      }),
    )
  })

  test('is no reason to refuse a viewer while a process has little to do or few viewers, or after one busy second', () => {
    const steady = (beat: Partial<Beat>) => after(times(3, { watching: 100, ...beat }))
    expect(takesViewers(steady({ load: 0.39 }), 1000)).toBe(true)
    expect(takesViewers(steady({ load: 0.84, watching: 49 }), 1000)).toBe(true)
    expect(takesViewers(after([...times(3, { watching: 100, load: 0.2 }), { watching: 100, load: 1 }]), 200)).toBe(true)
    expect(takesViewers(steady({ load: 0.84 }), 100)).toBe(true)
    expect(takesViewers(steady({ load: 0.84 }), 102)).toBe(false)
  })
})

describe('the rate that a node sends', () => {
  /** The rate after each moment. */
  function rates(moments: readonly SentBytes[]): (number | null)[] {
    let kept: readonly SentBytes[] = []
    return moments.map((moment) => egressOf((kept = withSent(kept, moment))))
  }
  const each = (count: number, bytes: number, from: SentBytes = { atMs: 0, bytes: 0 }): SentBytes[] =>
    Array.from({ length: count }, (_, n) => ({ atMs: from.atMs + n * 1000, bytes: from.bytes + n * bytes }))

  test('is that of the last five seconds, and is not known before', () => {
    expect(rates(each(7, 125_000))).toEqual([null, null, null, null, null, 1_000_000, 1_000_000])
    const [last] = each(6, 125_000).slice(-1)
    expect(rates([...each(6, 125_000), ...each(6, 0, last).slice(1)]).slice(5)).toEqual([
      1_000_000, 800_000, 600_000, 400_000, 200_000, 0,
    ])
  })

  test('keeps few moments, and none from before a pause', () => {
    let kept: readonly SentBytes[] = []
    for (const moment of each(100, 1)) kept = withSent(kept, moment)
    expect(kept.length).toBe(6)
    expect(withSent(kept, { atMs: 110_000, bytes: 10 ** 9 })).toHaveLength(1)
  })
})
