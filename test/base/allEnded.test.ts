import { expect, test } from 'vitest'
import { allEnded } from '../../src/base/allEnded.ts'

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
