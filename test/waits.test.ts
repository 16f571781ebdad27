import { expect, test } from 'vitest'
import { parse, readSources } from './tidy/source.ts'
import { fixedWaits } from './tidy/waits.ts'

test('no test waits for a fixed time', () => {
  expect(readSources(['test'], /\.ts$/).map(parse).flatMap(fixedWaits)).toEqual([])
})

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
