import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PoolTurns } from '../../../src/store/postgres/poolTurns.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Asks for turns by name, and notes in which order they begin and which are refused. */
function turnsOf(connections: number) {
  const turns = new PoolTurns(connections)
  const begun: string[] = []
  const refused: string[] = []
  const ask = (name: string, isFirst = false): void =>
    void turns.take(isFirst).then(
      () => begun.push(name),
      (error: unknown) => refused.push(`${name}: ${(error as Error).constructor.name}`),
    )
  return { turns, begun, refused, ask }
}

test('a burst waits for longer than five seconds while turns begin, in its order, and for 15 seconds at most', async () => {
  const { turns, begun, refused, ask } = turnsOf(1)
  for (const name of 'abcdef') ask(name)
  for (let turn = 0; turn < 4; turn += 1) {
    await vi.advanceTimersByTimeAsync(4_000)
    turns.giveBack()
  }
  await vi.advanceTimersByTimeAsync(0)
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
  expect(refused).toEqual(['e: NoTurn', 'f: NoTurn'])
  ask('g')
  await vi.advanceTimersByTimeAsync(0)
  expect(begun.at(-1)).toBe('g')
})

test('all who wait are refused when no turn has begun for five seconds', async () => {
  const { refused, ask } = turnsOf(2)
  for (const name of 'abcd') ask(name)
  await vi.advanceTimersByTimeAsync(4_999)
  expect(refused).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(refused).toEqual(['c: NoTurn', 'd: NoTurn'])
  expect(vi.getTimerCount()).toBe(0)
})

test('one who is first goes before all who wait', async () => {
  const { turns, begun, ask } = turnsOf(1)
  for (const name of 'abc') ask(name)
  ask('first', true)
  turns.giveBack()
  await vi.advanceTimersByTimeAsync(0)
  expect(begun).toEqual(['a', 'first'])
})

test('at most 10,000 wait, and all are refused at once when the pool ends', async () => {
  const { turns, refused, ask } = turnsOf(1)
  for (let n = 0; n < 10_002; n += 1) ask(String(n))
  await vi.advanceTimersByTimeAsync(0)
  expect(refused).toEqual(['10001: NoTurn'])
  turns.refuseAll(new RangeError('closed'))
  await vi.advanceTimersByTimeAsync(0)
  expect(refused).toHaveLength(10_001)
  expect(refused.at(-1)).toBe('10000: RangeError')
})
