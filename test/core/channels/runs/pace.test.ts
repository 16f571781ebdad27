import { describe, expect, test } from 'vitest'
import { noticeText } from '../../../../src/core/notices.ts'
import { overloadSentences, type Pace, type PaceSample, PaceWatch } from '../../../../src/core/channels/runs/pace.ts'

type Look = Partial<Omit<PaceSample, 'atMs'>>

/** The paces after samples that are a second apart. */
function watch(seconds: number, lookAt: (second: number) => Look): Pace[] {
  const pace = new PaceWatch()
  const still = { dueMs: 0, leadMs: 0, outMs: 0, droppedFrames: 0, droppedMs: 0, cpuMs: null, isReadyToRun: false }
  return Array.from({ length: seconds + 1 }, (_, at) => pace.look({ ...still, atMs: 5000 + at * 1000, ...lookAt(at) }))
}

const overloadedAt = (paces: readonly Pace[]): number => paces.findIndex(({ isOverloaded }) => isOverloaded)

describe('a process', () => {
  test('and encodes a third of it is overloaded after ten seconds, and reports its lag', () => {
    const paces = watch(20, (at) => ({ dueMs: at * 1000, outMs: at * 300, cpuMs: at * 500 }))
    expect(overloadedAt(paces)).toBe(12)
    const last = paces.at(-1)
    expect(last).toMatchObject({ lagMs: 14_000, cores: 0.5, droppedFrames: 0 })
    expect(last?.speed).toBeCloseTo(0.3)
    expect(last && noticeText(overloadSentences(last))).toBe(
      'The machine cannot keep up with this engine: it encodes 0.3 seconds of media a second. It is 14 s behind its source',
    )
  })

  test('in real time is not, however late it reports and however irregular its source is', () => {
    const late = watch(60, (at) => ({ dueMs: at * 1000, outMs: Math.max(0, at - 1.5) * 1000 }))
    expect(overloadedAt(late)).toBe(-1)
    // Nothing arrives for eight seconds, then everything at once, which takes four seconds.
    const gap = watch(60, (at) => {
      const dueMs = at < 20 || at > 27 ? at * 1000 : 20_000
      const caughtUp = 28_000 + (at - 28) * 3000 - 8000
      return { dueMs, outMs: at > 27 ? Math.min(dueMs, caughtUp) : dueMs }
    })
    expect(overloadedAt(gap)).toBe(-1)
    // A source faster than real time, as from a file, causes the lag itself.
    const fast = watch(60, (at) => ({ dueMs: at * 4000, outMs: at * 2000, droppedFrames: at, droppedMs: at * 10 }))
    expect(overloadedAt(fast)).toBe(-1)
  })

  test('that drops frames has not encoded their media time', () => {
    const paces = watch(12, (at) => ({
      dueMs: at * 1000,
      outMs: at * 1000,
      droppedFrames: at * 12,
      droppedMs: at * 500,
    }))
    expect(overloadedAt(paces)).toBe(10)
    expect(paces.at(-1)?.speed).toBeCloseTo(0.5)
    expect(paces.at(-1)?.droppedFrames).toBe(144)
  })

  test('is overloaded until it has kept up for twenty seconds', () => {
    const paces = watch(60, (at) => ({
      dueMs: at * 1000,
      outMs: at < 20 ? at * 300 : Math.min(at, at * 2 - 34) * 1000,
    }))
    const [first, last] = [overloadedAt(paces), paces.findLastIndex(({ isOverloaded }) => isOverloaded)]
    expect([first, last > 38 && last < 60]).toEqual([12, true])
    expect(paces.at(-1)?.isOverloaded).toBe(false)
  })
})

test('there is no speed in the first two seconds', () => {
  const paces = watch(3, (at) => ({ dueMs: at * 1000, outMs: at * 1000 }))
  expect(paces.map(({ speed }) => speed)).toEqual([null, null, 1, 1])
  expect(paces.every(({ isSettled }) => !isSettled)).toBe(true)
})
