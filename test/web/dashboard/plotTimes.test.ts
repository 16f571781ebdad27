import { execFileSync } from 'node:child_process'
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

/** What an expression of `plot` is in a zone: a process has one for all its life. */
function inZone(TZ: string, expression: string): unknown {
  const module = new URL('../../../web/dashboard/src/parts/plotTimes.ts', import.meta.url)
  const code = `import * as plot from ${JSON.stringify(module.href)}; console.log(JSON.stringify(${expression}))`
  const argv = ['--input-type=module', '--eval', code]
  return JSON.parse(execFileSync(process.execPath, argv, { env: { ...process.env, TZ }, encoding: 'utf8' }))
}

test.each([
  ['Europe/Berlin', '2026-10-24T22:00Z', ['25 Oct 2026, 02:00 CEST', '25 Oct 2026, 02:00 CET']],
  ['America/New_York', '2026-11-01T04:00Z', ['1 Nov 2026, 01:00 GMT-4', '1 Nov 2026, 01:00 GMT-5']],
  ['Australia/Lord_Howe', '2026-04-04T13:00Z', []],
])('in %s each hour of the day on which clocks are put back has a time of its own', (zone, midnight, twice) => {
  const times = `Array.from({ length: 25 }, (_, at) => plot.wholeTime(Date.parse('${midnight}') / 1000 + at * 3600, 'minute'))`
  const shown = inZone(zone, times) as string[]
  expect(new Set(shown).size).toBe(25)
  expect(shown.filter((time) => !/:\d\d$/.test(time))).toEqual(twice)
})

test.each([
  ['Australia/Lord_Howe', ['2026-04-03T13:00Z', '2026-04-04T13:00Z', '2026-04-05T13:00Z', '2026-04-06T13:00Z'], 4],
  // Midnight is within an hour of UTC.
  ['Asia/Kolkata', ['2026-04-03T18:00Z', '2026-04-04T18:00Z', '2026-04-05T18:00Z', '2026-04-06T18:00Z'], 4],
  // Clocks are put forward at midnight.
  ['America/Santiago', ['2026-09-05T04:00Z', '2026-09-06T04:00Z', '2026-09-07T03:00Z', '2026-09-08T03:00Z'], 5],
])('in %s an axis and a table of days say the days that begin where the server divides them', (zone, days, first) => {
  const times = JSON.stringify(days.map((day) => Date.parse(day) / 1000))
  const axis = (apart: number) => `plot.axisDays(${times}, ${apart}).map((at) => plot.axisTime(at, ${apart}))`
  const table = `${times}.map((at) => plot.wholeTime(at, 'day').split(' ').slice(1).join(' '))`
  const [each, other, rows] = inZone(zone, `[${axis(86_400)}, ${axis(2 * 86_400)}, ${table}]`) as string[][]
  expect(each?.map((day) => Number.parseInt(day))).toEqual([first, first + 1, first + 2, first + 3])
  expect(rows).toEqual(each)
  expect(other).toEqual([each?.[0], each?.[2]])
})
