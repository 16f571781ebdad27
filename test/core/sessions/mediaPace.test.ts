import { describe, expect, it } from 'vitest'
import { MediaPace } from '../../../src/core/sessions/mediaPace.ts'

/** Frames of 40 ms that arrive when `arrives` says. */
function paceOf(lengthMs: number, arrives: (timeMs: number) => number): MediaPace {
  const pace = new MediaPace()
  for (let timeMs = 0; timeMs <= lengthMs; timeMs += 40) pace.came(timeMs, arrives(timeMs))
  return pace
}

describe('media', () => {
  it('is in time while it comes, and later with each moment of silence', () => {
    const pace = paceOf(1000, (timeMs) => 7000 + timeMs)
    expect([8000, 8040, 8540].map((nowMs) => pace.lateMs(nowMs))).toEqual([0, 0, 500])
    expect(new MediaPace().lateMs(9000)).toBe(0)
  })

  it('of a slow link is later and later', () => {
    const pace = paceOf(4000, (timeMs) => timeMs * 1.25)
    expect(pace.lateMs(5000)).toBe(960)
  })

  it('that was late is in time again when it has caught up', () => {
    const arrives = (timeMs: number) => (timeMs < 1000 || timeMs > 3000 ? timeMs : 3000)
    expect(paceOf(2000, arrives).lateMs(3000)).toBe(960)
    expect(paceOf(3200, arrives).lateMs(3200)).toBe(0)
  })

  it('is compared with the last seconds: a link that got longer is not late for ever', () => {
    const arrives = (timeMs: number) => timeMs + (timeMs < 2000 ? 0 : 900)
    expect(paceOf(4000, arrives).lateMs(4900)).toBe(860)
    expect(paceOf(14_000, arrives).lateMs(14_900)).toBe(0)
  })

  it('with few pictures, or another clock, is not late', () => {
    const pace = new MediaPace()
    for (const timeMs of [0, 1000, 2000]) pace.came(timeMs, timeMs)
    expect(pace.lateMs(3000)).toBe(0)
    pace.came(900_000, 3000)
    expect(pace.lateMs(3100)).toBe(100)
  })
})
