import { expect, test } from 'vitest'
import { allEnded, allInTurn } from '../../src/base/allEnded.ts'

test('a failure is told when the others have ended, too', async () => {
  const other = Promise.withResolvers<void>()
  let told = ''
  const all = allEnded([Promise.reject(new Error('first')), other.promise, Promise.reject(new Error('second'))])
  const telling = all.catch((error: unknown) => void (told = String(error)))
  await new Promise(setImmediate)
  expect(told).toBe('')
  other.resolve()
  await telling
  expect(told).toBe('Error: first')
})

test('it ends when all have ended, and without any at once', async () => {
  await allEnded([])
  await allEnded([Promise.resolve()])
})

test('one after the other is done, also after a failure, which is told at the end', async () => {
  const done: string[] = []
  const all = allInTurn([
    () => Promise.reject(new Error('first')),
    () => new Promise<void>((resolve) => setImmediate(resolve)).then(() => done.push('second')),
    () => {
      done.push('third')
      throw new Error('third')
    },
    () => done.push('fourth'),
  ])
  await expect(all).rejects.toThrow('first')
  expect(done).toEqual(['second', 'third', 'fourth'])
})
