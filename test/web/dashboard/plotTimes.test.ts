import { expect, test } from 'vitest'
import { axisTime, stepOf, wholeTime } from '../../../web/dashboard/src/parts/plotTimes.ts'

const MIDNIGHT = new Date(2026, 10, 30).getTime() / 1000
const times = (apart: number, many: number): number[] => Array.from({ length: many }, (_, at) => MIDNIGHT + at * apart)

test('no two times beside each other on the axis look alike, in the first minutes neither', () => {
  for (const increment of [1, 5, 10, 15, 30, 60, 600, 3600, 86_400]) {
    const shown = times(increment, 6).map((time) => axisTime(time, increment))
    expect(new Set(shown).size, `every ${increment} s: ${shown.join()}`).toBe(6)
  }
  expect([axisTime(MIDNIGHT, 3600), axisTime(MIDNIGHT + 660, 60)]).toEqual(['30 Nov', '00:11'])
})

test('no two rows of the table behind a plot look alike', () => {
  for (const apart of [10, 60, 3600, 86_400]) {
    const all = times(apart, 12)
    expect(new Set(all.map((time) => wholeTime(time, stepOf(all)))).size, `every ${apart} s`).toBe(12)
  }
})

test('days are days also where the first one has 23 hours, and a time alone is none', () => {
  expect(stepOf([0, 23 * 3600, 47 * 3600])).toBe('day')
  expect([stepOf([]), stepOf([0]), stepOf(times(60, 3)), stepOf([0, 60, 70])]).toEqual([
    'minute',
    'minute',
    'minute',
    'second',
  ])
})
