import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { repeat, type RepeatOptions, type Round } from '../../src/base/repeat.ts'

const lines: [level: string, message: string, fields: object][] = []
const note = (level: string) => (fields: object, message: string) => void lines.push([level, message, fields])
const log: Logger = {
  debug: note('debug'),
  info: note('info'),
  warn: note('warn'),
  error: note('error'),
  child: () => log,
}

let clock: ManualClock
beforeEach(() => {
  clock = new ManualClock()
  lines.length = 0
})

const begin = (round: Round, over: Partial<RepeatOptions> = {}) =>
  repeat({ clock, log, name: 'look', everyMs: 100, ...over }, round)
/** Lets everything run that waits for nothing but its turn. */
const turn = () => new Promise((resolve) => setImmediate(resolve))
async function pass(ms: number): Promise<void> {
  clock.advance(ms)
  await turn()
}

test('the first round begins at once, and each other one a pause after the end of the one before', async () => {
  let rounds = 0
  const repetition = begin(async () => {
    rounds += 1
    await clock.sleep(30)
  })
  expect(rounds).toBe(1)
  await pass(100)
  expect(rounds).toBe(1)
  await pass(99)
  expect(rounds).toBe(1)
  await pass(1)
  expect(rounds).toBe(2)
  await pass(30)
  await repetition.stop()
})

test('with jitter servers that start together wait for different times', async () => {
  const pauses: number[] = []
  const stopping = new AbortController()
  const sleep = async (ms: number) => {
    if (pauses.push(ms) === 3) stopping.abort()
  }
  const bytes = [0, 0xff, 0x80]
  const jitter = { bytes: (count: number) => Buffer.alloc(count, bytes.shift()) }
  const options = { clock: Object.assign(new ManualClock(), { sleep }), everyMs: 1000, signal: stopping.signal }
  await begin(async () => undefined, { ...options, pausesFirst: true, jitter }).over
  expect(pauses.map(Math.round)).toEqual([0, 1100, 1000])
})

test('with pausesFirst the first round comes after a pause', async () => {
  let rounds = 0
  const repetition = begin(
    async () => {
      rounds += 1
    },
    { pausesFirst: true },
  )
  await pass(99)
  expect(rounds).toBe(0)
  await pass(1)
  expect(rounds).toBe(1)
  await repetition.stop()
})

test('stop waits for the round in progress, and none comes after it', async () => {
  const seen: string[] = []
  const repetition = begin(async (signal) => {
    seen.push('begun')
    await clock.sleep(50)
    seen.push(signal.aborted ? 'ended, and told to' : 'ended')
  })
  const stopped = repetition.stop().then(() => seen.push('stopped'))
  await turn()
  expect(seen).toEqual(['begun'])
  await pass(50)
  await stopped
  expect(seen).toEqual(['begun', 'ended, and told to', 'stopped'])
  await pass(1000)
  expect(seen).toHaveLength(3)
})

test('a signal ends a pause as stop does, and nothing begins when it was aborted before', async () => {
  const over = new AbortController()
  let rounds = 0
  const round = async () => {
    rounds += 1
  }
  const repetition = begin(round, { signal: over.signal })
  await turn()
  over.abort()
  await repetition.over
  await begin(round, { signal: over.signal }).over
  expect(rounds).toBe(1)
})

test('a round that answers done is the last', async () => {
  let rounds = 0
  const repetition = begin(async () => {
    rounds += 1
    return rounds === 3 ? 'done' : undefined
  })
  await turn()
  await pass(100)
  await pass(100)
  await repetition.over
  await pass(1000)
  expect(rounds).toBe(3)
})

test('a failure that repeats is one line, another one is another line, and so is that it works again', async () => {
  const outcomes = ['away', 'away', 'away', 'broken', '', '', 'away']
  const repetition = begin(async () => {
    const problem = outcomes.shift()
    if (problem) throw new Error(problem)
  })
  await turn()
  while (outcomes.length > 0) await pass(100)
  await repetition.stop()
  const failed = (message: string) => [
    'warn',
    'a job failed; it is tried again',
    { job: 'look', err: expect.objectContaining({ message }) },
  ]
  const works = ['info', 'a job works again', { job: 'look', failures: 4 }]
  expect(lines).toEqual([failed('away'), failed('broken'), works, failed('away')])
})
