import { expect, test } from 'vitest'
import { Turns } from '../../src/base/turns.ts'

interface Work {
  readonly done: Promise<string | null>
  end(): void
}

function run(turns: Turns, name: string, begun: string[]): Work {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = turns.run(async () => {
    begun.push(name)
    await promise
    return name
  })
  return { done, end: resolve }
}

test('so many run at once, the others in order, and what finds the queue full is not begun', async () => {
  const turns = new Turns({ atOnce: 2, waitingMax: 2 })
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
  const turns = new Turns({ atOnce: 1, waitingMax: 1 })
  const failing = turns.run(() => Promise.reject(new Error('failed')))
  const next = turns.run(async () => 'next')
  await expect(failing).rejects.toThrow('failed')
  expect(await next).toBe('next')
})
