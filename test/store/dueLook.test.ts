import { expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { DueLook } from '../../src/store/dueLook.ts'
import { type DueQuery, type Store, StoreUnavailable, type WatchListener } from '../../src/store/store.ts'
import { Watchers } from '../../src/store/watchers.ts'
import { NOTHING_DUE as NOTHING, quiet } from '../conformance/store.samples.ts'

/** A look at a store that answers what the test says. */
function looking() {
  const clock = new ManualClock(5)
  const answer = { due: NOTHING, error: null as Error | null, after: (): void => undefined }
  const queries: DueQuery[] = []
  const listeners = new Set<WatchListener>()
  const store: Pick<Store, 'watch' | 'due'> = {
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async due(query) {
      queries.push(query)
      if (answer.error) throw answer.error
      answer.after()
      return answer.due
    },
  }
  const changes = { position: '7', heard: vi.fn(async () => undefined), unheard: vi.fn() }
  const warnings: object[] = []
  const log = { ...quiet, warn: (fields: object) => void warnings.push(fields) }
  const look = new DueLook({ store, changes, clock, log, node: () => 'node 1' })
  const call: WatchListener = (what) => {
    for (const listener of listeners) listener(what)
  }
  return { look, answer, queries, changes, clock, warnings, call, listeners }
}

test('one read a second says what is due, and only those parts run', async () => {
  const { look, answer, queries, call, listeners } = looking()
  const [engines, pulls] = [vi.fn(async () => undefined), vi.fn(async () => undefined)]
  look.on('engines', engines)
  look.on('pulls', pulls)
  look.start()
  answer.due = { ...NOTHING, pulls: true }
  call('changed')
  expect(queries).toEqual([])
  call('second')
  await look.look()
  expect(queries).toEqual([{ nowMs: expect.any(Number), cursor: '7', node: 'node 1' }])
  expect([engines.mock.calls.length, pulls.mock.calls.length]).toEqual([0, 1])
  await look.stop()
  expect(listeners.size).toBe(0)
})

test('a part runs once more after its last work, to see that there is none', async () => {
  const { look, answer } = looking()
  const run = vi.fn(async () => undefined)
  look.on('engines', run)
  for (const engines of [false, true, true, false, false]) {
    answer.due = { ...NOTHING, engines }
    await look.look()
  }
  expect(run).toHaveBeenCalledTimes(3)
})

test('a part that takes long runs once at a time, delays no other, and is not forgotten', async () => {
  const { look, answer } = looking()
  const gate = Promise.withResolvers<void>()
  const [slow, quick] = [vi.fn(() => gate.promise), vi.fn(async () => undefined)]
  const part = look.on('engines', slow)
  look.on('deliveries', quick)
  answer.due = { ...NOTHING, engines: true, deliveries: true }
  await look.look()
  await look.look()
  expect([slow.mock.calls.length, quick.mock.calls.length]).toEqual([1, 2])
  answer.due = NOTHING
  gate.resolve()
  await new Promise(setImmediate)
  await look.look()
  expect(slow).toHaveBeenCalledTimes(2)
  await part.stop()
  answer.due = { ...NOTHING, engines: true }
  await look.look()
  expect(slow).toHaveBeenCalledTimes(2)
})

test('a part that fails is logged once, and runs again', async () => {
  const { look, answer, warnings } = looking()
  const run = vi.fn(async () => undefined)
  run.mockRejectedValueOnce(new Error('away')).mockRejectedValueOnce(new Error('away'))
  look.on('schedulers', run)
  answer.due = { ...NOTHING, schedulers: true }
  await look.look()
  await new Promise(setImmediate)
  answer.due = NOTHING
  for (let looks = 0; looks < 4; looks += 1) {
    await look.look()
    await new Promise(setImmediate)
  }
  expect(run).toHaveBeenCalledTimes(3)
  expect(warnings).toEqual([{ job: 'schedulers', err: new Error('away') }])
})

test('the cache hears whether there are changes, or that the store is silent', async () => {
  const { look, answer, changes, clock } = looking()
  await look.look()
  answer.due = { ...NOTHING, changes: true }
  answer.after = () => clock.advance(1000)
  await look.look()
  expect(changes.heard.mock.calls).toEqual([
    [false, 5],
    [true, 5],
  ])
  answer.error = new StoreUnavailable('away')
  await look.look()
  expect(changes.unheard.mock.calls).toEqual([[answer.error]])
})

test('nodes that start together look at different moments, at least once a second', () => {
  vi.useFakeTimers()
  try {
    const moments = (byte: number): number[] => {
      const watchers = new Watchers({ bytes: (count) => Buffer.alloc(count, byte) })
      const seen: number[] = []
      const since = Date.now()
      const remove = watchers.add((what) => {
        if (what === 'second') seen.push(Date.now() - since)
      })
      vi.advanceTimersByTime(2500)
      remove()
      vi.advanceTimersByTime(2500)
      return seen
    }
    const [early, late] = [moments(0x20), moments(0xff)]
    expect(early).not.toEqual(late)
    for (const seen of [early, late]) {
      const pauses = seen.map((atMs, n) => atMs - (seen[n - 1] ?? 0))
      expect(Math.max(...pauses)).toBeLessThanOrEqual(1000)
      expect(seen.at(-1)).toBeGreaterThan(1500)
    }
  } finally {
    vi.useRealTimers()
  }
})

test('notifications that can wait are heard together when there are many, and others at once', () => {
  vi.useFakeTimers()
  try {
    const watchers = new Watchers()
    const heard = vi.fn()
    const remove = watchers.add(heard)
    const calls = () => heard.mock.calls.filter(([what]) => what === 'changed').length
    for (let n = 0; n < 60; n++) watchers.changed(true)
    expect(calls()).toBe(50)
    vi.advanceTimersByTime(199)
    expect(calls()).toBe(50)
    vi.advanceTimersByTime(2)
    expect(calls()).toBe(51)
    // One that cannot wait is heard at once, and those that wait with it.
    watchers.changed(true)
    watchers.changed()
    expect(calls()).toBe(52)
    vi.advanceTimersByTime(500)
    expect(calls()).toBe(52)
    watchers.changed(true)
    remove()
    vi.advanceTimersByTime(500)
    expect(calls()).toBe(53)
  } finally {
    vi.useRealTimers()
  }
})
