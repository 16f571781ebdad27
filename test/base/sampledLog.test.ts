import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Fields, Logger } from '../../src/base/log.ts'
import { SampledLog } from '../../src/base/sampledLog.ts'

function lines(): { log: Logger; written: [string, Fields, string][] } {
  const written: [string, Fields, string][] = []
  const write = (level: string) => (fields: Fields, message: string) => void written.push([level, fields, message])
  const log: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  }
  return { log, written }
}

test('a limited number of lines a minute is written, and the next one says how many were dropped', () => {
  const clock = new ManualClock()
  const { log, written } = lines()
  const sampled = new SampledLog(log, clock, 60)
  for (let at = 0; at < 1000; at += 1) sampled.info({ at }, 'refused')
  expect(written).toHaveLength(60)
  expect(sampled.leftOut).toBe(940)
  clock.advance(1000)
  sampled.warn({ at: 1000 }, 'refused')
  sampled.info({ at: 1001 }, 'refused')
  expect(written.slice(60)).toEqual([['warn', { at: 1000, leftOut: 940 }, 'refused']])
  clock.advance(60_000)
  for (let at = 0; at < 100; at += 1) sampled.debug({}, 'refused')
  expect(written).toHaveLength(61 + 60)
})

test('children share the budget, and errors are always written', () => {
  const { log, written } = lines()
  const sampled = new SampledLog(log, new ManualClock(), 2)
  const child = sampled.child({ a: 1 }).child({ b: 2 })
  for (const each of [child, sampled, child]) each.info({}, 'line')
  expect(written).toEqual([
    ['info', { a: 1, b: 2 }, 'line'],
    ['info', {}, 'line'],
  ])
  child.error({}, 'broken')
  expect(written.at(-1)).toEqual(['error', { a: 1, b: 2 }, 'broken'])
})
