import { expect, test } from 'vitest'
import { inTurns, type WorkOrigin, Turns } from '../../src/base/turns.ts'

interface Work {
  readonly done: Promise<string | null>
  end(): void
}

const ORIGIN: WorkOrigin = { key: 'origin', isFirst: false }

function run(turns: Turns, name: string, begun: string[], origin = ORIGIN): Work {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = turns.run(origin, async () => {
    begun.push(name)
    await promise
    return name
  })
  return { done, end: resolve }
}

test('so many run at once, the others in order, and what finds the queue full is not begun', async () => {
  const turns = new Turns({ atOnce: 2, waitingMax: 2, waitingOfOriginMax: 2 })
  const begun: string[] = []
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => run(turns, name, begun)) as [
    Work,
    Work,
    Work,
    Work,
    Work,
  ]
  expect(begun).toEqual(['a', 'b'])
  expect(await e.done).toBeNull()
  b.end()
  expect(await b.done).toBe('b')
  await Promise.resolve()
  expect(begun).toEqual(['a', 'b', 'c'])
  for (const work of [a, c, d]) work.end()
  expect(await Promise.all([a.done, c.done, d.done])).toEqual(['a', 'c', 'd'])
  const later = run(turns, 'later', begun)
  expect(begun.at(-1)).toBe('later')
  later.end()
  expect(await later.done).toBe('later')
})

test('work that fails passes its turn on', async () => {
  const turns = new Turns({ atOnce: 1, waitingMax: 1, waitingOfOriginMax: 1 })
  const failing = turns.run(ORIGIN, () => Promise.reject(new Error('failed')))
  const next = turns.run(ORIGIN, async () => 'next')
  await expect(failing).rejects.toThrow('failed')
  expect(await next).toBe('next')
})

/** Lets what waits run to its end, one after another; answers the order. */
async function orderOf(limits: { waitingMax: number; waitingOfOriginMax: number }, origins: readonly WorkOrigin[]) {
  const turns = new Turns({ atOnce: 1, ...limits })
  const running = run(turns, 'running', [])
  const order: string[] = []
  const all = origins.map((origin) => turns.run(origin, async () => order.push(origin.key)))
  running.end()
  const refused = (await Promise.all(all)).map((done, at) => (done === null ? at : null)).filter((at) => at !== null)
  return { order, refused }
}

const origin = (key: string, isFirst = false): WorkOrigin => ({ key, isFirst })

test('a origin with much work delays each other one by one turn, and what is first by none', async () => {
  const limits = { waitingMax: 9, waitingOfOriginMax: 9 }
  const { order } = await orderOf(limits, [
    origin('a'),
    origin('a'),
    origin('a'),
    origin('b'),
    origin('c'),
    origin('k', true),
  ])
  expect(order).toEqual(['k', 'a', 'b', 'c', 'a', 'a'])
})

test('what is first leaves every fourth turn to the others', async () => {
  const limits = { waitingMax: 20, waitingOfOriginMax: 20 }
  const first = Array.from({ length: 10 }, () => origin('k', true))
  const { order } = await orderOf(limits, [...first, origin('a'), origin('b')])
  expect(order.join('')).toBe('kkkakkkbkkkk')
})

test('full queues refuse the origins that filled them: others and what is first find room', async () => {
  const limits = { waitingMax: 4, waitingOfOriginMax: 3 }
  const many = [origin('a'), origin('a'), origin('a'), origin('a'), origin('b'), origin('c'), origin('k', true)]
  // The fourth of a origin, and the third of it, for which another origin came.
  expect(await orderOf(limits, many)).toEqual({ order: ['k', 'a', 'b', 'c', 'a'], refused: [2, 3] })
  const each = ['a', 'b', 'c', 'd', 'e'].map((key) => origin(key))
  expect((await orderOf(limits, each)).refused).toEqual([4])
})

test('long work lets others in between', async () => {
  let isOthersTurn = false
  setTimeout(() => (isOthersTurn = true))
  function* work(): Generator<void, boolean> {
    for (let step = 0; step < 10_000_000; step++) {
      if (isOthersTurn) return true
      yield
    }
    return false
  }
  expect(await inTurns(work())).toBe(true)
})

test('long works that run at the same time have turns of their own', async () => {
  let [round, isOver] = [0, false]
  const nextRound = (): void => {
    round += 1
    if (!isOver) setImmediate(nextRound)
  }
  setImmediate(nextRound)
  const works = new Map<number, Set<string>>()
  function* work(name: string): Generator<void, void> {
    const last = round + 4
    for (let step = 0; step < 5_000_000; step++) {
      if (round >= last) return
      works.set(round, (works.get(round) ?? new Set<string>()).add(name))
      yield
    }
  }
  await Promise.all(['a', 'b', 'c'].map((name) => inTurns(work(name))))
  isOver = true
  expect([...works.values()].filter(({ size }) => size > 1)).toEqual([])
})
