import { expect, test } from 'vitest'
import { parse } from './tidy/source.ts'
import { fixedWaits, measuredTimes } from './tidy/waits.ts'

test.each([
  ['a sleep', "import { setTimeout as sleep } from 'node:timers/promises'"],
  ['a timer that resolves', 'await new Promise((done) => setTimeout(done, 20))'],
  ['a sleep of the real clock', 'await ctx.clock.sleep(20)'],
  ['a pace outside of a loop', 'await pace(20)'],
])('the rule sees %s', (_, text) => {
  expect(fixedWaits(parse({ path: 'test/a.ts', text }))).toHaveLength(1)
})

test.each([
  ['a turn of the event loop', "import { setImmediate } from 'node:timers/promises'"],
  ['the pace of a source', 'for (;;) await pace(20)'],
  ['a limit', 'const timer = setTimeout(() => child.kill(), 20)'],
  ['a clock of the test', 'const clock = new ManualClock()\nawait clock.sleep(20)'],
])('the rule permits %s', (_, text) => {
  expect(fixedWaits(parse({ path: 'test/a.ts', text }))).toEqual([])
})

test.each([
  ['a measured time', 'const began = performance.now()', 1],
  ['a clock for what is tested', 'const clock = { now: () => performance.now() + laterMs }', 0],
])('the rule about durations knows %s', (_, text, findings) => {
  expect(measuredTimes(parse({ path: 'test/a.test.ts', text }))).toHaveLength(findings)
})
